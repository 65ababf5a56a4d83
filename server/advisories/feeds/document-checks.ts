// Verifies a CSAF provider's documents by hashes and OpenPGP signatures (CSAF 2.0, requirements 18 to 20), with the keys in its
// metadata. A file that exists must be valid; a missing one is accepted.

import { createHash } from "node:crypto";
import type { PublicKey } from "openpgp";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Field } from "./field.ts";
import { addressLabel, AnswerFault, type Fetching } from "./fetching.ts";
import { DocumentError } from "./invalid.ts";
import type { StoredFile } from "./stored-file.ts";

export interface Checks {
  readonly hashes: readonly URL[];
  readonly signatures: readonly URL[];
}

/** Throws a Fault, AnswerFault for a status other than 200, and DocumentError if the file is too long. */
export const readShortFile = async ({ fetch }: Pick<Fetching, "fetch">, url: URL, bytesMax: number): Promise<Buffer> => {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  const { status } = await fetch(url.href, {
    headers: {},
    receive: async (piece) => {
      sizeBytes += piece.byteLength;
      if (sizeBytes > bytesMax) throw new DocumentError(1, `is longer than ${bytesMax} bytes`);
      pieces.push(piece);
    },
  });
  if (status !== 200) throw new AnswerFault(status, `${addressLabel(url)} returned status ${status}`);
  return Buffer.concat(pieces);
};

const absentStatuses: ReadonlySet<number> = new Set([403, 404, 410]);

/** Returns undefined if it does not exist. */
const readIfThere = async (fetching: Fetching, url: URL): Promise<Buffer | undefined> => {
  try {
    return await readShortFile(fetching, url, limits.feedCheckBytesMax);
  } catch (thrown) {
    if (thrown instanceof AnswerFault && absentStatuses.has(thrown.status)) return undefined;
    throw thrown;
  }
};

type OpenPgp = typeof import("openpgp");

export interface SigningKeys {
  /** Without keys in the metadata, signatures are ignored. */
  readonly isNamed: boolean;
  readonly keys: readonly PublicKey[];
  /** Reasons, for each key that could not be loaded. */
  readonly missing: readonly string[];
}

export const noSigningKeys: SigningKeys = { isNamed: false, keys: [], missing: [] };

const readKeys = async (library: OpenPgp, bytes: Buffer): Promise<PublicKey[]> => {
  const text = bytes.toString("latin1");
  const found = await (text.includes("-----BEGIN PGP") ? library.readKeys({ armoredKeys: text }) : library.readKeys({ binaryKeys: bytes }));
  return found.map((key) => key.toPublic());
};

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** Loads the keys in a provider's metadata, which must match their fingerprints. */
export const openSigningKeys = async (fetching: Fetching, base: URL, metadata: Field): Promise<SigningKeys> => {
  const named = metadata.at("public_openpgp_keys").list();
  if (named.length === 0) return noSigningKeys;
  const library = await import("openpgp");
  const keys: PublicKey[] = [];
  const missing: string[] = [];
  for (const each of named.slice(0, limits.feedSigningKeysMax)) {
    const url = URL.parse(each.at("url").url(), base.href);
    const fingerprint = each.at("fingerprint").name().replace(/\s/g, "").toLowerCase();
    try {
      if (url === null || !["https:", "http:"].includes(url.protocol)) throw new Fault("UNAVAILABLE", "has no address");
      const read = await readKeys(library, await readShortFile(fetching, url, limits.feedKeyBytesMax));
      const found = read.filter((key) => fingerprint === "" || key.getFingerprint() === fingerprint);
      if (found.length === 0) throw new Fault("UNAVAILABLE", `${addressLabel(url)} has no key with the fingerprint ${fingerprint}`);
      keys.push(...found);
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.code === "ABORTED") throw thrown;
      missing.push(messageOf(thrown));
    }
  }
  return { isNamed: true, keys, missing };
};

const digestNames: ReadonlyMap<number, readonly [name: string, label: string]> = new Map([
  [64, ["sha256", "SHA-256"]],
  [128, ["sha512", "SHA-512"]],
]);

const checkHash = async (file: StoredFile, content: Buffer): Promise<void> => {
  const [wanted = ""] = content.toString("latin1").trim().split(/\s/, 1);
  const [name, label] = (/^[0-9a-f]+$/i.test(wanted) && digestNames.get(wanted.length)) || [];
  if (name === undefined || label === undefined) throw new DocumentError(1, "has a published hash that is not SHA-256 or SHA-512");
  const hash = createHash(name);
  for await (const piece of file.bytes()) hash.update(piece);
  if (hash.digest("hex") !== wanted.toLowerCase()) throw new DocumentError(1, `does not match its published ${label}`);
};

const checkSignature = async ({ nowMs }: Fetching, file: StoredFile, content: Buffer, { keys, missing }: SigningKeys): Promise<void> => {
  if (keys.length === 0) throw new DocumentError(1, `is signed, and no key of its provider can be had: ${missing.join("; ")}`);
  if (file.sizeBytes > limits.feedDocumentBytesMax) throw new DocumentError(1, `is longer than ${limits.feedDocumentBytesMax} bytes`);
  const library = await import("openpgp");
  const reasons: string[] = [];
  try {
    const text = content.toString("latin1");
    const signature = await (text.includes("-----BEGIN PGP")
      ? library.readSignature({ armoredSignature: text })
      : library.readSignature({ binarySignature: content }));
    const { signatures } = await library.verify({
      message: await library.createMessage({ binary: await file.read(0, file.sizeBytes) }),
      signature,
      verificationKeys: [...keys],
      format: "binary",
      date: new Date(nowMs + limits.clockSkewMs),
    });
    for (const { verified } of signatures) {
      const isRight = await verified.catch((thrown: unknown) => {
        reasons.push(messageOf(thrown));
        return false;
      });
      if (isRight) return;
    }
  } catch (thrown) {
    reasons.push(messageOf(thrown));
  }
  throw new DocumentError(1, `is not signed by its provider: ${reasons.join("; ") || "it holds none"}`);
};

/** Returns true if anything was checked. Throws DocumentError if it is invalid, and a Fault if it cannot be fetched. */
export const checkDocument = async (fetching: Fetching, file: StoredFile, { hashes, signatures }: Checks, keys: SigningKeys): Promise<boolean> => {
  let isChecked = false;
  for (const url of hashes) {
    const content = await readIfThere(fetching, url);
    if (!content) continue;
    isChecked = true;
    await checkHash(file, content);
    // The first is the strongest.
    break;
  }
  for (const url of keys.isNamed ? signatures : []) {
    const content = await readIfThere(fetching, url);
    if (!content) continue;
    isChecked = true;
    await checkSignature(fetching, file, content, keys);
  }
  return isChecked;
};
