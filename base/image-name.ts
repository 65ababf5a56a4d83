// Names of images, as clients write them.

export interface ImageName {
  /** The repo's path of names or uid. */
  readonly path: string;
  /** Tag or digest can be "", not both. */
  readonly digest: string;
  readonly tag: string;
}

/** Parses "organization/group/repo:tag@sha256:…" with the repo's path or uid, with or without the host; undefined without tag and digest. */
export const readImageName = (image: string, host: string): ImageName | undefined => {
  const name = image.startsWith(`${host}/`) ? image.slice(host.length + 1) : image;
  const [, path = "", tag = "", digest = ""] = /^([^:@]+)(?::([a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$/.exec(name) ?? [];
  return tag === "" && digest === "" ? undefined : { path, tag, digest };
};
