// Reads a token file. A separate module, so that browsers load nothing of Node.

import { readFile } from "node:fs/promises";

export const readTokenFile = (path: string): Promise<string> => readFile(path, "utf8");
