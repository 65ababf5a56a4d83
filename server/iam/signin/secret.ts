// Secrets that somebody else carries for a while and brings back: 256 random bits, of which a row holds the hash.

import { hash, randomBytes } from "node:crypto";

export const newSecret = (): string => randomBytes(32).toString("base64url");

export const secretHashOf = (secret: string): string => hash("sha256", secret, "hex");
