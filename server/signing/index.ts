// Entry point: the signing keys, and tokens signed with them. `gantry token` needs no more of authn.

export { type Keys, openKeys } from "./keys.ts";
export { signToken } from "./sign.ts";
