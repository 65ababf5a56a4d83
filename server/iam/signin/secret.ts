// Bearer secrets: 256 random bits, stored only as a hash.

import { hash, randomBytes } from "node:crypto";

export const newSecret = (): string => randomBytes(32).toString("base64url");

export const secretHashOf = (secret: string): string => hash("sha256", secret, "hex");
