// The face of the room: rights, and what they allow.

export { builtInRoleUid, builtInRoleUids, operatorUid, writeBuiltIns } from "./builtin.ts";
export { basisOf, lacking, lasting, reach } from "./decide.ts";
export { type Bond, type Bonds, capabilityNames, type Grant, loadBonds, loadRights, openRightsCache, operatorGrant, type Rights, type RightsCache, rightsFrom } from "./rights.ts";
