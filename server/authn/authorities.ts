// The operator's certificate authorities (GANTRY_CA_FILE), in addition to the public ones. Each new connection checks whether the
// file has changed. An unreadable file leaves the previous authorities in force.

import { X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { splitAuthorities } from "#base/authorities-file.ts";
import type { Log } from "#base/log.ts";

/** Client certificate, in PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * Returns the context of a connection: trusted authorities (undefined: the public ones) and the client certificate. Rejects if
 * certificate and key are invalid or do not match.
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
      // Cached, because reading all public authorities takes ten milliseconds.
      trusted = [...getCACertificates("default"), ...authorities.map(String)];
      context = createSecureContext({ ca: trusted });
    } catch (cause) {
      // Logged once per state of the file.
      if (state !== seen) log("authn.authorities.failed", { file, cause });
    }
    seen = state;
    return context;
  };
  // Serialized, or an older read could win.
  let last: Promise<SecureContext | undefined> = Promise.resolve(undefined);
  return async (shown) => {
    last = last.then(renew);
    const renewed = await last;
    if (shown === undefined) return renewed;
    return createSecureContext({ ...shown, ...(trusted === undefined ? {} : { ca: trusted }) });
  };
};
