// Downloads a feed's files to temporary files through the guarded client, with conditional requests (ETag, Last-Modified).

import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { openTemporaryFile, type StoredFile } from "./stored-file.ts";

/** Validators of a response, exactly as sent. */
export interface Validator {
  readonly etag: string;
  readonly lastModified: string;
  /** The modification time in the list that links to the URL. */
  readonly listed: string;
}

/** The guarded client, injected. */
export type Fetch = (
  address: string,
  request: { readonly headers: Readonly<Record<string, string>>; readonly receive: (piece: Uint8Array) => Promise<void> },
) => Promise<{ readonly status: number; readonly headers: Readonly<Record<string, string>> }>;

/** Validators of the last import, and those to store if this one succeeds. */
export class Validators {
  private readonly before: ReadonlyMap<string, Validator>;
  readonly next = new Map<string, Validator>();

  constructor(before: ReadonlyMap<string, Validator> = new Map()) {
    this.before = before;
  }

  find(address: string): Validator | undefined {
    return this.before.get(address);
  }

  keep(address: string, validator: Validator): void {
    this.next.set(address, validator);
  }

  /** A refused file is downloaded again. */
  forget(address: string): void {
    this.next.delete(address);
  }
}

export interface Fetching {
  readonly fetch: Fetch;
  readonly validators: Validators;
  readonly pause: (ms: number) => Promise<void>;
  readonly nowMs: number;
  /** A key is sent only to the URL's host. */
  readonly hasKey: boolean;
  /** Only changes were requested: unlisted files are not deleted. */
  readonly found: { isDelta: boolean };
  /** Still to be read. The importer closes what remains. */
  readonly opened: Set<StoredFile>;
}

export class AnswerFault extends Fault {
  readonly status: number;
  constructor(status: number, message: string) {
    super("UNAVAILABLE", message);
    this.status = status;
  }
}

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
  /** `next` is the linked next page (RFC 8288). */
  | { readonly isUnchanged: false; readonly file: StoredFile; readonly next: URL | undefined };

const nextForm = /<([^<>]{1,8000})>\s*;[^,<]*\brel="?next"?/;

/** Only on the same host. */
const nextPageOf = (url: URL, link: string | undefined): URL | undefined => {
  const [, address] = nextForm.exec(link ?? "") ?? [];
  const next = address === undefined ? null : URL.parse(address, url.href);
  return next !== null && next.origin === url.origin && next.href !== url.href ? next : undefined;
};

// Could inject headers.
const headerForm = /^[\x21-\x7e][\x20-\x7e]{0,254}$/;

const conditionsOf = (known: Validator | undefined): Record<string, string> => ({
  ...(known && headerForm.test(known.etag) ? { "if-none-match": known.etag } : {}),
  ...(known && headerForm.test(known.lastModified) ? { "if-modified-since": known.lastModified } : {}),
});

/** Returns a URL without user, password and query. */
export const addressLabel = (url: URL): string => `${url.host}${url.pathname}`;

/** Throws a Fault if the host does not respond, or with a status other than 200 and 304. */
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
