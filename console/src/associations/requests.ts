// Requests about account associations.

import type {
  AccountAssociation,
  AccountAssociationInput,
  AccountProviderType,
  CheckAccountAssociationResponse,
  Gantry,
  ListAccountAssociationsResponse,
} from "../../../client/package.ts";
import type { Question } from "../api.ts";
import { shellWord } from "../format.ts";
import { pageFrom } from "../questions.ts";
import type { Version } from "../conflict.tsx";

const listQuestion = (request: Parameters<Gantry["iam"]["accountAssociations"]["list"]>[0] & object): Question<ListAccountAssociationsResponse> => ({
  name: "iam.account-associations.list",
  request: { ...request },
  send: (gantry, signal) => gantry.iam.accountAssociations.list(request, { signal }).page(),
});

/** The association of a group, if it has one. */
export const associationOf = (group: string): Question<ListAccountAssociationsResponse> => listQuestion({ uidp: { ids: [group] } });

export const associationsBelow = (group: string, skip: number): Question<ListAccountAssociationsResponse> =>
  listQuestion({ uidp: { descendantsOf: group }, orderBy: "name", ...pageFrom(skip) });

export const associationAt = (uid: string): Question<Version<AccountAssociation>> => ({
  name: "iam.account-associations.get",
  request: { uid },
  send: async (gantry, signal) => {
    const { data, etag } = await gantry.iam.accountAssociations.get({ uid }, { signal }).withResponse();
    return { resource: data, etag };
  },
});

/** Maps have no flags, so the command reads the message. */
const commandOf = (verb: string, words: string, message: object): string =>
  `printf %s ${shellWord(JSON.stringify(message), true)} | gantry iam account-associations ${verb} ${words} -f -`;

export const createAssociation = (parent: string, accountAssociation: AccountAssociationInput): Question<AccountAssociation> => ({
  name: "iam.account-associations.create",
  request: { parent, accountAssociation },
  command: commandOf("create", `--parent ${parent}`, accountAssociation),
  send: (gantry, signal) => gantry.iam.accountAssociations.create({ parent, accountAssociation }, { signal }),
});

const parts = ["amazon", "google", "azure", "github", "chainguard"] as const;

/** Replaces all fields: accounts that are left out are removed. */
export const updateAssociation = (uid: string, association: AccountAssociationInput, ifMatch: string | undefined): Question<AccountAssociation> => {
  const request = { accountAssociation: { uid, ...association }, updateMask: ["name", "description", ...parts] as const };
  return {
    name: "iam.account-associations.update",
    request,
    command: commandOf("update", uid, { ...Object.fromEntries(parts.map((part) => [part, null])), ...association }),
    send: (gantry, signal) => gantry.iam.accountAssociations.update(request, { signal, ifMatch }),
  };
};

export const deleteAssociation = (uid: string): Question<void> => ({
  name: "iam.account-associations.delete",
  request: { uid },
  send: (gantry, signal) => gantry.iam.accountAssociations.delete({ uid }, { signal }),
});

export const checkAssociation = (uid: string, providerType: AccountProviderType): Question<CheckAccountAssociationResponse> => ({
  name: "iam.account-associations.check",
  request: { uid, providerType },
  send: (gantry, signal) => gantry.iam.accountAssociations.check({ uid, providerType }, { signal }),
});
