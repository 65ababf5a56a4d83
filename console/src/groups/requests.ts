// Requests that create, change and delete groups.

import type { Group, GroupInput, GroupPath, GroupUpdate } from "../../../client/package.ts";
import type { Question } from "../api.ts";
import type { Version } from "../conflict.tsx";

export const createGroup = (parent: string, group: GroupInput): Question<Group> => ({
  name: "iam.groups.create",
  request: { parent, group },
  send: (gantry, signal) => gantry.iam.groups.create({ parent, group }, { signal }),
});

export const groupVersion = (uid: string): Question<Version<Group>> => ({
  name: "iam.groups.get",
  // Not the question of the heading, which has no ETag.
  request: { uid, etag: true },
  send: async (gantry, signal) => {
    const { data, etag } = await gantry.iam.groups.get({ uid }, { signal }).withResponse();
    return { resource: data, etag };
  },
});

export const updateGroup = (group: GroupUpdate, updateMask: readonly GroupPath[], ifMatch: string | undefined): Question<Group> => ({
  name: "iam.groups.update",
  request: { group, updateMask },
  send: (gantry, signal) => gantry.iam.groups.update({ group, updateMask }, { signal, ifMatch }),
});

export const deleteGroup = (uid: string): Question<void> => ({
  name: "iam.groups.delete",
  request: { uid },
  send: (gantry, signal) => gantry.iam.groups.delete({ uid }, { signal }),
});
