// The error of an exceeded quota scim-users. Removed users count too: a row keeps each out,
// so deleting users frees no quota.

import { namingQuota } from "#kernel";

const people = { what: () => "SCIM users, including removed ones", advice: "ask" };

/** Runs a statement that creates or removes a user; throws RESOURCE_EXHAUSTED if the quota is exceeded. */
export const namingPeopleQuota = <T>(userUid: string, statement: Promise<T>): Promise<T> => namingQuota(userUid, statement, people);
