// Code of an invite: base64url of {"grp": group, "kid": key, "sec": 256 random bits}, opaque to clients. Only its SHA-256 is stored
// and looked up, so neither a row nor the time of a look-up discloses a code.

import { hash, randomBytes } from "node:crypto";

export const makeInviteCode = (group: string, keyId: string): string =>
  Buffer.from(JSON.stringify({ grp: group, kid: keyId, sec: randomBytes(32).toString("base64url") })).toString("base64url");

export const inviteCodeHash = (code: string): string => hash("sha256", code, "base64url");
