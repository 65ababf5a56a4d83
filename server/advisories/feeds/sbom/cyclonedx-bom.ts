// The packages of a CycloneDX document (JSON, 1.2 to 1.7), without pedigree, services and excluded components.

import type { Field } from "../field.ts";
import { collectPackages, type Packages } from "./packages.ts";

const originOf = (component: Field): string => {
  const property = component
    .at("properties")
    .list()
    .find((each) => each.at("name").value === "aquasecurity:trivy:SrcName");
  return property?.at("value").name() ?? "";
};

export const cyclonedxPackages = (document: Field): Packages => {
  const packages = collectPackages();
  // Iterative: only the JSON parser bounds nesting (parse/json.ts).
  const waiting = [document.at("metadata").at("component"), ...document.at("components").list()].reverse();
  for (let component = waiting.pop(); component !== undefined; component = waiting.pop()) {
    if (component.missing || component.object().at("scope").value === "excluded") continue;
    for (const within of component.at("components").list().reverse()) waiting.push(within);
    const purl = component.at("purl");
    // Images, files, operating systems.
    if (purl.missing && component.at("type").value !== "library") continue;
    packages.add({ purl, version: component.at("version").name(), origin: originOf(component) });
  }
  return packages;
};
