// An artifact's maven-metadata.xml: its versions, without sizes and publish times.

import { isObject } from "#base/json.ts";
import type { Field } from "../field.ts";
import { FieldError } from "../invalid.ts";
import { distinctVersions } from "./artifact-lines.ts";
import type { Format } from "./format.ts";

export const maven: Format = {
  name: "maven",
  title: "a Maven metadata file",
  kinds: ["libraries"],
  matches: (document) => isObject(document.metadata) && "artifactId" in document.metadata,
  read: (document) => {
    const metadata = document.at("metadata").object();
    const versions = metadata.at("versioning").object().at("versions").object().at("version");
    const name = `${metadata.at("groupId").id()}:${metadata.at("artifactId").id()}`;
    if (versions.missing) throw new FieldError(["metadata", "versioning", "versions"], "must contain at least one version");
    return [
      { kind: "library", ecosystem: "ECOSYSTEM_JAVA", name, versions: distinctVersions(versions.list().map((version: Field) => ({ version: version.id() }))) },
    ];
  },
};
