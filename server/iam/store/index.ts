// Public entry of the module: the tables of iam, and the statements on them.

export {
  authorizationCodesRetention,
  deleteSomeEndedAuthorizationCodes,
  hasAuthorizationCode,
  insertAuthorizationCode,
  lockAuthorizationCode,
  useAuthorizationCode,
} from "./authorization-codes.ts";
export { awsRequestsRetention, hasAwsRequest, insertAwsRequest } from "./aws-requests.ts";
export {
  approveDeviceCode,
  deleteDeviceCode,
  deleteEndedDeviceCodes,
  deviceCodesRetention,
  findOpenDeviceCode,
  hasDeviceCode,
  insertDeviceCode,
  lockDeviceCode,
  refuseDeviceCode,
  updateDevicePoll,
} from "./device-codes.ts";
export { listMappedRoles } from "./external-group-role-mappings.ts";
export { insertAccessRequest } from "./group-access-requests.ts";
export { findExpiredInvites, findInviteUid, type Invite, listExpiredInvitesOfRole, lockExpiredInvites, lockInvite } from "./group-invites.ts";
export {
  countReservedNames,
  findNameClaim,
  findNameProblems,
  findUnverifiedHolders,
  isNameShared,
  listReservedNames,
  type NameProblem,
  releaseReservedName,
  type ReservedName,
} from "./group-names.ts";
export { findGroupName, findOrganizations, findVerifiedOrganization, isOrganizationSuspended } from "./groups.ts";
export {
  deleteExpiredHeadlessSessions,
  hasHeadlessSession,
  headlessSessionsRetention,
  insertHeadlessSession,
  takeHeadlessSession,
} from "./headless-sessions.ts";
export { findHolders } from "./holders.ts";
export {
  findBoundPeople,
  findIdentitiesOf,
  findIdentity,
  findIdentityEmail,
  findIdentityName,
  findIssuerPatterns,
  findPatternHolders,
  hasIdentity,
  hasPersonOfIssuer,
  type Identity,
  lockPersonAndProvider,
  updateLastSeen,
  writeOperator,
} from "./identities.ts";
export { lockPerson, writeIdentityMetadata } from "./identity-metadata.ts";
export {
  clientSecretBinding,
  clientSecretPurpose,
  findProvider,
  findProvidersOfOnlyOrganization,
  findProvidersOfOrganization,
  findScim,
  findScimAccess,
  holdProviderRow,
  listClientIds,
  listProviderIssuers,
  lockScim,
  type OfferedProvider,
  type Provider,
  type ScimAccess,
  scimEnabledColumns,
  scimRevokedColumns,
  type ScimState,
  scimTokenColumns,
} from "./identity-providers.ts";
export {
  countPendingBindings,
  countPersonOrganizations,
  findPersonOrganization,
  findPersonOrganizations,
  findSeenIdentities,
  findUnansweredOrganizations,
  findUnjoinedOrganizations,
  insertMembership,
  insertMembershipDecline,
  type PersonOrganization,
} from "./memberships.ts";
export { countOpenRows, countOpenRowsOf, type OpenRowsTable } from "./open-rows.ts";
export { findProfile, writeProfile } from "./profiles.ts";
export { insertProviderArrival } from "./provider-arrivals.ts";
export {
  deleteRefreshToken,
  deleteRefreshTokensThrough,
  findRefreshToken,
  insertRefreshToken,
  type RefreshTokenFamily,
  refreshTokensRetention,
  replaceRefreshTokenSecret,
} from "./refresh-tokens.ts";
export { insertRevokedGrant, isGrantRevoked, revokedGrantsRetention } from "./revoked-grants.ts";
export {
  type BindingRow,
  type BoundIdentity,
  findBindingUids,
  findBoundIdentity,
  findMappingGrants,
  findSessionGrants,
  findSignInOrganizations,
  type MappingGrantRow,
} from "./rights.ts";
export { countIdentitiesBoundWith, findRoleBindingUid, hasOwnersBeside, listBindingsBelow } from "./role-bindings.ts";
export { findKnownRoles, writeBuiltInRole } from "./roles.ts";
export {
  countScimGroups,
  deleteOtherScimMembers,
  deleteScimGroup,
  deleteScimMembers,
  deleteScimMemberships,
  findScimGroup,
  type GroupOfScimUser,
  insertScimGroup,
  insertScimMembers,
  listGroupsOfScimUsers,
  listScimGroups,
  listScimMembers,
  lockGroupsOfScimUser,
  lockScimGroup,
  lockScimUserUids,
  type ScimGroupAttribute,
  type ScimGroupQuery,
  type ScimGroupRow,
  type ScimMember,
  updateScimGroup,
} from "./scim-groups.ts";
export type { ScimCondition, ScimOperator, ScimPartTerm } from "./scim-lists.ts";
export {
  countScimUsers,
  deleteScimRemoval,
  deleteScimUser,
  findScimIdentity,
  findScimUser,
  hasScimPeople,
  insertScimUser,
  isDismissedAt,
  isDismissedBy,
  listScimUsers,
  lockScimPerson,
  lockScimStanding,
  lockScimUser,
  type ScimUserAttribute,
  type ScimUserKeys,
  type ScimUserQuery,
  type ScimUserRow,
  updateScimUser,
  writeScimArrival,
  writeScimIdentity,
  writeScimRemoval,
} from "./scim-users.ts";
export { deleteSessionsThrough, insertSession, sessionsRetention } from "./sessions.ts";
export {
  countSignInSessions,
  deleteSignInSession,
  findSessionsToEnd,
  findSignInSessions,
  keyOfSession,
  type SessionFilter,
  type SessionView,
  type SignInSessionRow,
  signInSessionsRetention,
  type StoredSession,
  writeSignInSession,
} from "./sign-in-sessions.ts";
export { deleteSomeExpiredSignIns, insertSignIn, type SignInRow, signInsRetention, takeSignIn } from "./sign-ins.ts";
export {
  areSigningKeysOlder,
  deleteRetiredSigningKeys,
  hasUnretiredSigningKey,
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  retireSigningKeys,
  signingKeyBinding,
  signingKeyPurpose,
} from "./signing-keys.ts";
export { addWrongUserCodes, findMostWrongUserCodes, userCodeGuessesRetention } from "./user-code-guesses.ts";
