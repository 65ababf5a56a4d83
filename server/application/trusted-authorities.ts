// The operator's certificate authorities (GANTRY_CA_FILE): read for the settings, for doctor, and for commands that are clients,
// where they count for all connections of the process. The server has them for its guarded client alone, which reads the
// file again when it changes (server/authn/authorities.ts).

import type { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { splitAuthorities } from "#base/authorities-file.ts";
import { Fault } from "#base/fault.ts";
import type { Environment } from "./setting-names.ts";

/** The certificates of the file, in its order. Throws a Fault of one line that names the setting. */
export const readAuthorities = (path: string): X509Certificate[] => {
  const problem = (reason: string): Fault => new Fault("FAILED_PRECONDITION", `GANTRY_CA_FILE ${reason}`);
  let pem: string;
  try {
    pem = readFileSync(path, "utf8");
  } catch (error) {
    throw problem(`must name a readable file: ${error instanceof Error ? error.message : path}`);
  }
  let blocks: string[];
  try {
    blocks = splitAuthorities(pem);
  } catch (error) {
    throw problem(`${error instanceof Error ? error.message : String(error)}: ${path}`);
  }
  // Loaded where there is such a file, and not by each command.
  const crypto = process.getBuiltinModule("node:crypto");
  return blocks.map((block, index) => {
    try {
      return new crypto.X509Certificate(block);
    } catch {
      throw problem(`contains an unreadable certificate: number ${index + 1} of ${blocks.length}: ${path}`);
    }
  });
};

/** The absolute path of GANTRY_CA_FILE, whose certificates can be read; undefined where it is not set. */
export const readCaFile = (path: string | undefined): string | undefined => {
  if (path === undefined || path === "") return undefined;
  readAuthorities(path);
  return resolve(path);
};

/** For a process that is a client. Throws a Fault of one line where the file cannot be read. */
export const trustAuthorities = ({ GANTRY_CA_FILE: file }: Environment): void => {
  if (file === undefined || file === "") return;
  const { getCACertificates, setDefaultCACertificates } = process.getBuiltinModule("node:tls");
  setDefaultCACertificates([...getCACertificates("default"), ...readAuthorities(file).map(String)]);
};
