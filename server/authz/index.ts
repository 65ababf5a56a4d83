// The public entry: rights, and what they allow.

export { builtInRoleUid, builtInRoleUids, operatorUid, writeBuiltIns } from "./builtin.ts";
export { bindingsGiving, missingCapability, type ShortRight, shortestRight, visiblePaths } from "./decide.ts";
export {
  type HeldBinding,
  type HeldBindings,
  capabilityNames,
  type Grant,
  grantsAt,
  loadBindings,
  loadRights,
  openRightsCache,
  operatorGrant,
  type Rights,
  type RightsCache,
  rightsFrom,
  visibilityCapabilities,
  withMappings,
  withoutRights,
} from "./rights.ts";
