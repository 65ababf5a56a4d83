// The key of a feed: a file of the operator's that holds nothing else. It is read by each import, so that another one takes
// its place without a start, and goes to the host of the feed's address alone; no message and no log names it.

import { readFile } from "node:fs/promises";
import { Fault } from "#base/fault.ts";

const keyForm = /^[\x21-\x7e]{1,1024}$/;

/** Throws a Fault of one line that names the file. */
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
