// How a feed's address is asked: through the guarded client, with what its last answer said of itself (ETag,
// Last-Modified), so that what is the same is not sent again. What comes goes to a temporary file.

import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { openTemporaryFile, type StoredFile } from "./stored-file.ts";

/** What an answer says of itself, to be told back when the address is asked again; as it was sent. */
export interface Validator {
  readonly etag: string;
  readonly lastModified: string;
  /** When the list that leads to the address says that it was changed. */
  readonly listed: string;
}

/** The guarded client, as feeds use it. Whoever starts an import hands it in. */
export type Fetch = (
  address: string,
  request: { readonly headers: Readonly<Record<string, string>>; readonly receive: (piece: Uint8Array) => Promise<void> },
) => Promise<{ readonly status: number; readonly headers: Readonly<Record<string, string>> }>;

/** What is remembered of a source's addresses, and what is to be remembered when the import has gone well. */
export class Validators {
  private readonly before: ReadonlyMap<string, Validator>;
  readonly next = new Map<string, Validator>();

  constructor(before: ReadonlyMap<string, Validator> = new Map()) {
    this.before = before;
  }

  find(address: string): Validator | undefined {
    return this.before.get(address);
  }

  /** Remembers what the answer said, or that it is as before. */
  keep(address: string, validator: Validator): void {
    this.next.set(address, validator);
  }

  /** What was refused is fetched again. */
  forget(address: string): void {
    this.next.delete(address);
  }
}

/** What one import fetches with. */
export interface Fetching {
  readonly fetch: Fetch;
  readonly validators: Validators;
  /** Waits; of hosts that want to be asked slowly. */
  readonly pause: (ms: number) => Promise<void>;
  readonly nowMs: number;
  /** A key goes to the address's own host. */
  readonly hasKey: boolean;
  /** What turned out: only what has changed was asked for, so that what is not named is not gone. */
  readonly found: { isDelta: boolean };
  /** Files that are still to be read; whoever imports closes what is left at the end. */
  readonly opened: Set<StoredFile>;
}

/** An answer with another status than was hoped for. */
export class AnswerFault extends Fault {
  readonly status: number;
  constructor(status: number, message: string) {
    super("UNAVAILABLE", message);
    this.status = status;
  }
}

/** Reads a file that nobody needs any more behind it. */
export async function* readOnce({ opened }: Fetching, file: StoredFile): AsyncGenerator<Uint8Array> {
  try {
    yield* file.bytes();
  } finally {
    opened.delete(file);
    await file.close();
  }
}

export type Fetched =
  | { readonly isUnchanged: true }
  /** `next`: the page behind it, where it says that there is one (RFC 8288). */
  | { readonly isUnchanged: false; readonly file: StoredFile; readonly next: URL | undefined };

const nextForm = /<([^<>]{1,8000})>\s*;[^,<]*\brel="?next"?/;

/** The next page by the header Link; only one of the same host, whose list it is. */
const nextPageOf = (url: URL, link: string | undefined): URL | undefined => {
  const [, address] = nextForm.exec(link ?? "") ?? [];
  const next = address === undefined ? null : URL.parse(address, url.href);
  return next !== null && next.origin === url.origin && next.href !== url.href ? next : undefined;
};

// What would make a header of another shape is not sent back.
const headerForm = /^[\x21-\x7e][\x20-\x7e]{0,254}$/;

const conditionsOf = (known: Validator | undefined): Record<string, string> => ({
  ...(known && headerForm.test(known.etag) ? { "if-none-match": known.etag } : {}),
  ...(known && headerForm.test(known.lastModified) ? { "if-modified-since": known.lastModified } : {}),
});

/** An address without what may be secret in it: neither user and password nor a query. */
export const addressLabel = (url: URL): string => `${url.host}${url.pathname}`;

/** Fetches an address. Throws a Fault where it does not answer, or with another status than that the file is there or unchanged. */
export const fetchFile = async ({ fetch, validators, opened }: Fetching, url: URL, listed = ""): Promise<Fetched> => {
  const known = validators.find(url.href);
  const conditions = conditionsOf(known);
  const temporary = await openTemporaryFile();
  let isKept = false;
  try {
    const { status, headers } = await fetch(url.href, { headers: conditions, receive: (piece) => temporary.append(piece) });
    if (status === 304 && known && Object.keys(conditions).length > 0) {
      validators.keep(url.href, { ...known, listed });
      return { isUnchanged: true };
    }
    if (status !== 200) {
      const hint = status >= 300 && status < 400 ? `; it redirects more than ${limits.feedRedirectsMax} times, or to nowhere` : "";
      throw new AnswerFault(status, `${addressLabel(url)} returned status ${status}${hint}`);
    }
    validators.keep(url.href, { etag: headers.etag ?? "", lastModified: headers["last-modified"] ?? "", listed });
    const file = temporary.read();
    opened.add(file);
    isKept = true;
    return { isUnchanged: false, file, next: nextPageOf(url, headers.link) };
  } finally {
    if (!isKept) await temporary.close();
  }
};
