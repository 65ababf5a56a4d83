// What a CycloneDX document (JSON, 1.2 to 1.7) says to be in an image: its components and those within them. What a component was
// made from (pedigree), services and what is said to be excluded are not in it.

import type { Field } from "../field.ts";
import { collectPackages, type Packages } from "./packages.ts";

/** Trivy's word for the package that a distribution's package is built from. */
const originOf = (component: Field): string => {
  const property = component
    .at("properties")
    .list()
    .find((each) => each.at("name").value === "aquasecurity:trivy:SrcName");
  return property?.at("value").name() ?? "";
};

export const cyclonedxPackages = (document: Field): Packages => {
  const packages = collectPackages();
  // Not by recursion: how deep they may be nested is bounded for all of JSON (parse/json.ts), and a list needs no stack.
  const waiting = [document.at("metadata").at("component"), ...document.at("components").list()].reverse();
  for (let component = waiting.pop(); component !== undefined; component = waiting.pop()) {
    if (component.missing || component.object().at("scope").value === "excluded") continue;
    for (const within of component.at("components").list().reverse()) waiting.push(within);
    const purl = component.at("purl");
    // An image, a file, an operating system.
    if (purl.missing && component.at("type").value !== "library") continue;
    packages.add({ purl, version: component.at("version").name(), origin: originOf(component) });
  }
  return packages;
};
