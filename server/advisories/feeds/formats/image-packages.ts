// Packages of images, one image per line as locked by apko:
//
//   {"image": "bash", "repo": "public/bash", "tags": ["latest"], "configs": {"amd64": {"packages": ["bash=5.3-r12"]}}}
//
// Packages from outside the distribution are package URLs: "pkg:pypi/django@4.2".

import type { ImagePackagesRecord } from "../record.ts";
import type { Field } from "../field.ts";
import type { Format } from "./format.ts";
import { packageLabel, readPurlParts, versionOf } from "./purl.ts";

const readPackageUrl = (field: Field): ImagePackagesRecord["packages"][number] => {
  const purl = readPurlParts(field.required());
  if (!purl || purl.version === "") return field.refuse("must be a package URL with a version, such as pkg:pypi/django@4.2");
  return { name: packageLabel(purl), version: versionOf(purl) };
};

const readPackageVersion = (field: Field): ImagePackagesRecord["packages"][number] => {
  if (field.required().startsWith("pkg:")) return readPackageUrl(field);
  const [, name, version] = /^([^=<>~\s]+)=(\S+)$/.exec(field.required()) ?? [];
  return name === undefined || version === undefined ? field.refuse("must be a package and its version, such as bash=5.3-r12") : { name, version };
};

const imageRecords = (line: Field): ImagePackagesRecord[] => {
  const repo = line.at("repo").missing ? line.at("image").id() : line.at("repo").id();
  const tags = line
    .at("tags")
    .list()
    .map((tag) => tag.id());
  const configs = line.at("configs").object();
  // "index" lists the packages common to all architectures.
  const architectures = configs.keys().filter((architecture) => architecture !== "index");
  return architectures.flatMap((architecture) => {
    const packages = configs.at(architecture).object().at("packages").list().map(readPackageVersion);
    return tags.map((tag): ImagePackagesRecord => ({ kind: "image", repo, tag, architecture, packages }));
  });
};

export const imagePackages: Format = {
  name: "image-packages",
  title: "a list of images with their packages",
  kinds: ["images"],
  matches: (document) => "configs" in document && ("image" in document || "repo" in document),
  read: imageRecords,
};
