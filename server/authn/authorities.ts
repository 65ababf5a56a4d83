// Certificate authorities of the operator's own (GANTRY_CA_FILE), which count beside the public ones for everything that
// the guarded client connects to. The file is looked at before each new connection and read again when it has changed:
// an authority that is renewed needs no restart. One that cannot be read leaves what was read before in force.

import { X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { splitAuthorities } from "#base/authorities-file.ts";
import type { Log } from "#base/log.ts";

/** What a connection trusts: the public authorities and the file's; undefined: the public ones alone. */
export type Authorities = () => Promise<SecureContext | undefined>;

export const openAuthorities = (file: string | undefined, log: Log): Authorities => {
  if (file === undefined) return () => Promise.resolve(undefined);
  let seen = "";
  let context: SecureContext | undefined;
  const renew = async (): Promise<SecureContext | undefined> => {
    let state = "absent";
    try {
      const { mtimeMs, size, ino } = await stat(file);
      state = `${mtimeMs} ${size} ${ino}`;
      if (state === seen) return context;
      const authorities = splitAuthorities(await readFile(file, "utf8")).map((block) => new X509Certificate(block));
      // Made once: reading all public ones takes ten milliseconds.
      context = createSecureContext({ ca: [...getCACertificates("default"), ...authorities.map(String)] });
    } catch (cause) {
      // Once for each state of the file.
      if (state !== seen) log("authn.authorities.failed", { file, cause });
    }
    seen = state;
    return context;
  };
  // One look at a time: of two that end in the other order the older file would stay.
  let last: Promise<SecureContext | undefined> = Promise.resolve(undefined);
  return () => {
    last = last.then(renew);
    return last;
  };
};
