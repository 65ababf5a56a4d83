// Requests of the image page.

import type {
  CompareImagesRequest,
  CompareImagesResponse,
  FindImagePackagesRequest,
  FindImagePackagesResponse,
  ImageSbomDocument,
  ImageSbomFormat,
  ListImageContentsResponse,
  ListTagsRequest,
  ListTagsResponse,
  Pulls,
  TagHistory,
} from "../../../client/package.ts";
import type { Question } from "../api.ts";
import { pageFrom } from "../questions.ts";

/** An image of a repo, for one architecture if it has several. */
export interface ImageRef {
  readonly repoUid: string;
  /** Digest of the image or index. */
  readonly digest: string;
  /** undefined: the server's default. */
  readonly architecture: string | undefined;
}

export interface PackageFilter {
  readonly name: string;
  readonly type: string;
  readonly layer: string;
}

export const noFilter: PackageFilter = { name: "", type: "", layer: "" };

/** The largest page. */
export const allSize = 200;

const freshMs = 15_000;

const requestOf = ({ repoUid, digest, architecture }: ImageRef) => ({ repoUid, reference: digest, ...(architecture === undefined ? {} : { architecture }) });

const find = (request: FindImagePackagesRequest): Question<FindImagePackagesResponse> => ({
  name: "registry.image-packages.find",
  request: { ...request },
  freshMs,
  send: (gantry, signal) => gantry.registry.imagePackages.find(request, { signal }),
});

export const packagesOf = (image: ImageRef, { name, type, layer }: PackageFilter, skip: number): Question<FindImagePackagesResponse> =>
  find({
    ...requestOf(image),
    ...(name === "" ? {} : { names: [name] }),
    ...(type === "" ? {} : { types: [type] }),
    ...(layer === "" ? {} : { layers: [layer] }),
    ...pageFrom(skip),
  });

/** State, digest and number of packages of one platform. */
export const platformOf = (image: ImageRef): Question<FindImagePackagesResponse> => find({ ...requestOf(image), pageSize: 1 });

/** Packages with these names, for their layers. */
export const packagesNamed = (image: ImageRef, names: readonly string[]): Question<FindImagePackagesResponse> =>
  find({ ...requestOf(image), names, pageSize: allSize });

/** Contents of one platform, by the digest of its manifest. */
export const contentsOf = (repoUid: string, digest: string): Question<ListImageContentsResponse> => {
  const request = { parent: repoUid, digest };
  return { name: "registry.image-contents.list", request, freshMs, send: (gantry, signal) => gantry.registry.imageContents.list(request, { signal }).page() };
};

export const compared = ({ repoUid, digest, architecture }: ImageRef, from: string, skip: number): Question<CompareImagesResponse> => {
  const request: CompareImagesRequest = {
    repoUid,
    reference: from,
    toReference: digest,
    ...(architecture === undefined ? {} : { architecture }),
    ...pageFrom(skip),
  };
  return {
    name: "registry.image-packages.compare-images",
    request: { ...request },
    send: (gantry, signal) => gantry.registry.imagePackages.compareImages(request, { signal }),
  };
};

export const sbomOf = (image: ImageRef, format: ImageSbomFormat): Question<ImageSbomDocument> => {
  const request = { ...requestOf(image), format };
  return {
    name: "registry.image-packages.export-image-sbom",
    request,
    send: (gantry, signal) => gantry.registry.imagePackages.exportImageSbom(request, { signal }),
  };
};

const tags = (request: ListTagsRequest): Question<ListTagsResponse> => ({
  name: "registry.tags.list",
  request: { ...request },
  freshMs,
  send: (gantry, signal) => gantry.registry.tags.list(request, { signal }).page(),
});

const allKinds = { includeDates: true, includeEpochs: true } as const;

/** Tags that point at an image. */
export const tagsOfImage = (repoUid: string, digest: string, skip: number): Question<ListTagsResponse> =>
  tags({ parent: repoUid, digest, ...allKinds, ...pageFrom(skip) });

export const tagNamed = (repoUid: string, name: string): Question<ListTagsResponse> => tags({ parent: repoUid, name, pageSize: 1 });

/** Tags to choose from, the latest first. */
export const latestTags = (repoUid: string): Question<ListTagsResponse> =>
  tags({ parent: repoUid, ...allKinds, orderBy: "update_time desc", pageSize: allSize });

export const historyOf = (tagUid: string): Question<TagHistory> => ({
  name: "registry.tag-history.get",
  request: { tagUid },
  send: (gantry, signal) => gantry.registry.tagHistory.get({ tagUid }, { signal }),
});

/** Pulls of one manifest, by tag or by digest. */
export const pullsOf = (repoUid: string, digest: string): Question<Pulls> => {
  const request = { uid: repoUid, digest };
  return { name: "registry.pulls.get", request, send: (gantry, signal) => gantry.registry.pulls.get(request, { signal }) };
};
