// The code of an invite: base64url of {"grp": group, "kid": key, "sec": 256 random bits}. Clients treat it as opaque and
// the server never reads it back: only the SHA-256 of its whole text is stored and looked up, so a row gives no code
// away, and the time that a look-up takes tells nothing of a hash that one cannot choose.

import { hash, randomBytes } from "node:crypto";

export const makeInviteCode = (group: string, keyId: string): string =>
  Buffer.from(JSON.stringify({ grp: group, kid: keyId, sec: randomBytes(32).toString("base64url") })).toString("base64url");

export const inviteCodeHash = (code: string): string => hash("sha256", code, "base64url");
