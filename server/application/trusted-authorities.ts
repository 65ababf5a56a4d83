// The operator's certificate authorities (GANTRY_CA_FILE), for settings, doctor, and client commands. The server's guarded client
// reloads the file (server/authn/authorities.ts).

import type { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { splitAuthorities } from "#base/authorities-file.ts";
import { Fault } from "#base/fault.ts";
import type { Environment } from "./setting-names.ts";

/** Returns the file's certificates in order. Throws a one-line Fault that names the setting. */
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
  // Loaded only if there is such a file.
  const crypto = process.getBuiltinModule("node:crypto");
  return blocks.map((block, index) => {
    try {
      return new crypto.X509Certificate(block);
    } catch {
      throw problem(`contains an unreadable certificate: number ${index + 1} of ${blocks.length}: ${path}`);
    }
  });
};

/** Returns the absolute path of a readable GANTRY_CA_FILE; undefined if unset. */
export const readCaFile = (path: string | undefined): string | undefined => {
  if (path === undefined || path === "") return undefined;
  readAuthorities(path);
  return resolve(path);
};

/** Applies the file to this client process. Throws a one-line Fault if it cannot be read. */
export const trustAuthorities = ({ GANTRY_CA_FILE: file }: Environment): void => {
  if (file === undefined || file === "") return;
  const { getCACertificates, setDefaultCACertificates } = process.getBuiltinModule("node:tls");
  setDefaultCACertificates([...getCACertificates("default"), ...readAuthorities(file).map(String)]);
};
