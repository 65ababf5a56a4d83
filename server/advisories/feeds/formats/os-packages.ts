// Packages of a distribution with their subpackages, one per line:
//
//   {"name": "curl", "version": "8.21.0", "epoch": 2, "subpackages": ["libcurl-openssl4", {"name": "curl-dev"}]}

import type { PackageOriginRecord } from "../record.ts";
import type { Field } from "../field.ts";
import type { Format } from "./format.ts";

const subpackageName = (subpackage: Field): string => (typeof subpackage.value === "string" ? subpackage.id() : subpackage.object().at("name").id());

export const osPackages: Format = {
  name: "os-packages",
  title: "a list of a distribution's packages",
  kinds: ["images", "advisories"],
  matches: (document) => "name" in document && "subpackages" in document,
  read: (line) => {
    const origin = line.at("name").id();
    const names = new Set([origin, ...line.at("subpackages").list().map(subpackageName)]);
    return [...names].map((name): PackageOriginRecord => ({ kind: "origin", name, origin }));
  },
};
