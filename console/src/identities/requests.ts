// Requests that read, change and delete an identity.

import type { Identity, IdentityPath, IdentityUpdate } from "../../../client/package.ts";
import type { Question } from "../api.ts";
import { shellWord } from "../format.ts";
import type { Version } from "../conflict.tsx";

export const identityAt = (uid: string): Question<Version<Identity>> => ({
  name: "iam.identities.get",
  request: { uid },
  send: async (gantry, signal) => {
    const { data, etag } = await gantry.iam.identities.get({ uid }, { signal }).withResponse();
    return { resource: data, etag };
  },
});

const claimFlags = ["issuer", "issuerPattern", "subject", "subjectPattern", "audience", "audiencePattern"] as const;

/** The command has a flag for each field of a claim match. */
const commandOf = ({ uid, name = "", description = "", claimMatch }: IdentityUpdate): string =>
  [
    `gantry iam identities update ${uid} --name ${shellWord(name)} --description ${shellWord(description)}`,
    ...claimFlags.flatMap((field) => {
      const value = claimMatch?.[field];
      return value === undefined ? [] : [`--claim-match-${field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} ${shellWord(value)}`];
    }),
    ...Object.entries(claimMatch?.claims ?? {}).map(([claim, value]) => `--claim-match-claims ${shellWord(`${claim}=${value}`)}`),
    ...Object.entries(claimMatch?.claimPatterns ?? {}).map(([claim, value]) => `--claim-match-claim-patterns ${shellWord(`${claim}=${value}`)}`),
  ].join(" ");

export const updateIdentity = (identity: IdentityUpdate, updateMask: readonly IdentityPath[], ifMatch: string | undefined): Question<Identity> => ({
  name: "iam.identities.update",
  request: { identity, updateMask },
  command: commandOf(identity),
  send: (gantry, signal) => gantry.iam.identities.update({ identity, updateMask }, { signal, ifMatch }),
});

export const deleteIdentity = (uid: string): Question<void> => ({
  name: "iam.identities.delete",
  request: { uid },
  send: (gantry, signal) => gantry.iam.identities.delete({ uid }, { signal }),
});
