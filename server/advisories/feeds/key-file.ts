// The API key of a feed, in a separate file. Each import reads it, so that it can be replaced without a restart. It is sent only
// to the feed's host, and never logged.

import { readFile } from "node:fs/promises";
import { Fault } from "#base/fault.ts";

const keyForm = /^[\x21-\x7e]{1,1024}$/;

/** Throws a one-line Fault that names the file. */
export const readKeyFile = async (path: string): Promise<string> => {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch {
    throw new Fault("FAILED_PRECONDITION", `the key file ${path} cannot be read`);
  }
  const key = text.trim();
  if (!keyForm.test(key))
    throw new Fault("FAILED_PRECONDITION", `the key file ${path} must contain one key of at most 1,024 printable characters and nothing else`);
  return key;
};
