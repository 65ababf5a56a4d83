// The public entry: rights, and what they allow.

export { builtInRoleUid, builtInRoleUids, operatorUid, writeBuiltIns } from "./builtin.ts";
export { bindingsGiving, missingCapability, type ShortRight, shortestRight, visiblePaths } from "./decide.ts";
export {
  type HeldBinding,
  type HeldBindings,
  capabilityNames,
  type Grant,
  loadBindings,
  loadRights,
  openRightsCache,
  operatorGrant,
  type Rights,
  type RightsCache,
  rightsFrom,
  withMappings,
} from "./rights.ts";
