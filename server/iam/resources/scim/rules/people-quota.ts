// What a directory is answered where its organization has no room for more people (quota scim-users). Whom its providers have removed are
// counted, too (store/migrations/0033_bounds_of_scim.sql): they are kept out by a row each, so that deleting users makes no room.

import { namingQuota } from "#kernel";

const people = { what: () => "SCIM users, including removed ones", advice: "ask" };

/** Runs a statement that makes this user, or keeps whom it was before. Throws RESOURCE_EXHAUSTED where there is no room. */
export const namingPeopleQuota = <T>(userUid: string, statement: Promise<T>): Promise<T> => namingQuota(userUid, statement, people);
