// Public entry point: rights, and the decisions based on them.

export { builtInRoleUid, builtInRoleUids, writeBuiltIns } from "./builtin.ts";
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
