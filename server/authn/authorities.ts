// Certificate authorities of the operator's own (GANTRY_CA_FILE), which count beside the public ones for everything that
// the guarded client connects to. The file is looked at before each new connection and read again when it has changed:
// an authority that is renewed needs no restart. One that cannot be read leaves what was read before in force.

import { X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { splitAuthorities } from "#base/authorities-file.ts";
import type { Log } from "#base/log.ts";

/** What this side shows of itself, in PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * What a connection trusts: the public authorities and the file's; undefined: the public ones alone. And what it shows, where it is
 * given: rejects where certificate and key are none or do not fit.
 */
export type Authorities = (shown?: ClientCertificate) => Promise<SecureContext | undefined>;

export const openAuthorities = (file: string | undefined, log: Log): Authorities => {
  if (file === undefined) return async (shown) => (shown === undefined ? undefined : createSecureContext({ ...shown }));
  let seen = "";
  let trusted: string[] | undefined;
  let context: SecureContext | undefined;
  const renew = async (): Promise<SecureContext | undefined> => {
    let state = "absent";
    try {
      const { mtimeMs, size, ino } = await stat(file);
      state = `${mtimeMs} ${size} ${ino}`;
      if (state === seen) return context;
      const authorities = splitAuthorities(await readFile(file, "utf8")).map((block) => new X509Certificate(block));
      // Made once: reading all public ones takes ten milliseconds.
      trusted = [...getCACertificates("default"), ...authorities.map(String)];
      context = createSecureContext({ ca: trusted });
    } catch (cause) {
      // Once for each state of the file.
      if (state !== seen) log("authn.authorities.failed", { file, cause });
    }
    seen = state;
    return context;
  };
  // One look at a time: of two that end in the other order the older file would stay.
  let last: Promise<SecureContext | undefined> = Promise.resolve(undefined);
  return async (shown) => {
    last = last.then(renew);
    const renewed = await last;
    if (shown === undefined) return renewed;
    return createSecureContext({ ...shown, ...(trusted === undefined ? {} : { ca: trusted }) });
  };
};
