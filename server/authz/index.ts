// The face of the room: rights, and what they allow.

export { builtInRoleUid, builtInRoleUids, operatorUid, writeBuiltIns } from "./builtin.ts";
export { lacking, reach } from "./decide.ts";
export { type Grant, loadRights, openRightsCache, type Rights, type RightsCache } from "./rights.ts";
