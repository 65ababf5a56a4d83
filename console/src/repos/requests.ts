// Requests that create, change and delete repos, their readmes and tags.

import type { PromoteImageRequest, Promotion, Repo, RepoInput, RepoPath, RepoReadme, RepoUpdate, Tag } from "../../../client/package.ts";
import type { Question } from "../api.ts";
import type { Version } from "../conflict.tsx";
import { shellWord } from "../format.ts";

export const createRepo = (parent: string, repo: RepoInput): Question<Repo> => ({
  name: "registry.repos.create",
  request: { parent, repo },
  send: (gantry, signal) => gantry.registry.repos.create({ parent, repo }, { signal }),
});

export const repoVersion = (uid: string): Question<Version<Repo>> => ({
  name: "registry.repos.get",
  request: { uid },
  send: async (gantry, signal) => {
    const { data, etag } = await gantry.registry.repos.get({ uid }, { signal }).withResponse();
    return { resource: data, etag };
  },
});

export const updateRepo = (repo: RepoUpdate, updateMask: readonly RepoPath[], ifMatch: string | undefined): Question<Repo> => ({
  name: "registry.repos.update",
  request: { repo, updateMask },
  send: (gantry, signal) => gantry.registry.repos.update({ repo, updateMask }, { signal, ifMatch }),
});

export const deleteRepo = (uid: string): Question<void> => ({
  name: "registry.repos.delete",
  request: { uid },
  send: (gantry, signal) => gantry.registry.repos.delete({ uid }, { signal }),
});

export const readmeVersion = (uid: string): Question<Version<RepoReadme>> => ({
  name: "registry.repos.get-readme",
  request: { uid },
  send: async (gantry, signal) => {
    const { data, etag } = await gantry.registry.repos.getReadme({ uid }, { signal }).withResponse();
    return { resource: data, etag };
  },
});

export const updateReadme = (uid: string, content: string, ifMatch: string | undefined): Question<RepoReadme> => {
  const request = { repoReadme: { uid, content }, updateMask: ["content"] } as const;
  return { name: "registry.repos.update-readme", request, send: (gantry, signal) => gantry.registry.repos.updateReadme(request, { signal, ifMatch }) };
};

export const tagVersion = (uid: string): Question<Version<Tag>> => ({
  name: "registry.tags.get",
  request: { uid },
  send: async (gantry, signal) => {
    const { data, etag } = await gantry.registry.tags.get({ uid }, { signal }).withResponse();
    return { resource: data, etag };
  },
});

export const moveTag = (uid: string, digest: string, ifMatch: string | undefined): Question<Tag> => {
  const request = { tag: { uid, digest }, updateMask: ["digest"] } as const;
  return { name: "registry.tags.update", request, send: (gantry, signal) => gantry.registry.tags.update(request, { signal, ifMatch }) };
};

export const deleteTag = (uid: string): Question<void> => ({
  name: "registry.tags.delete",
  request: { uid },
  send: (gantry, signal) => gantry.registry.tags.delete({ uid }, { signal }),
});

/** `before`: the digest that the tag must still point to; undefined if it does not exist. */
export const promote = (request: PromoteImageRequest, before: string | undefined): Question<Promotion> => {
  const { repo, tag = "", sourceRepo, sourceReference } = request;
  const condition = before === undefined ? "" : ` --if-match ${before}`;
  return {
    name: "registry.promotions.promote-image",
    request: { ...request },
    command: `gantry registry promote ${sourceRepo}@${sourceReference} --to ${shellWord(`${repo}:${tag}`)}${condition}`,
    send: (gantry, signal) => gantry.registry.promotions.promoteImage(request, { signal, ifMatch: before === undefined ? undefined : `"${before}"` }),
  };
};
