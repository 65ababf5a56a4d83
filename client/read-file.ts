// Reads the file of a token. By itself, so that what browsers load has nothing of Node's: it is loaded when a file is named.

import { readFile } from "node:fs/promises";

export const readTokenFile = (path: string): Promise<string> => readFile(path, "utf8");
