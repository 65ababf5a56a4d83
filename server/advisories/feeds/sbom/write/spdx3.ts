// SPDX 3.0.1 as JSON-LD (https://spdx.github.io/spdx-spec/v3.0.1/).

import type { JsonObject } from "#base/json.ts";
import { documentIdOf, foundInText, imagePurlOf, incompleteText, packageIdOf, type SbomContents, wholeSeconds } from "./sbom-contents.ts";

const creation = "_:creationInfo";

export const spdx3Document = (contents: SbomContents): JsonObject => {
  const { name, digest, operatingSystem: os, createTime, isComplete, toolVersion, publicUrl, packages } = contents;
  const namespace = `${publicUrl}/spdx/${documentIdOf(contents)}`;
  const idOf = (last: string): string => `${namespace}#${last}`;
  const element = (type: string, last: string, fields: JsonObject): JsonObject => ({ type, spdxId: idOf(last), creationInfo: creation, ...fields });
  const listed = packages.map((each): JsonObject => {
    const foundIn = foundInText(each);
    return element("software_Package", `package-${packageIdOf(each)}`, {
      name: each.name,
      software_packageVersion: each.version,
      software_packageUrl: each.purl,
      comment: `origins: ${each.origins.join(", ")}`,
      ...(foundIn === "" ? {} : { software_sourceInfo: foundIn }),
    });
  });
  const system = os
    ? [
        element("software_Package", "operating-system", {
          name: os.id,
          ...(os.version === "" ? {} : { software_packageVersion: os.version }),
          ...(os.name === "" ? {} : { description: os.name }),
          software_primaryPurpose: "operatingSystem",
        }),
      ]
    : [];
  const inside = [...system, ...listed].map((each) => each.spdxId ?? "");
  return {
    "@context": "https://spdx.org/rdf/3.0.1/spdx-context.jsonld",
    "@graph": [
      {
        type: "CreationInfo",
        "@id": creation,
        specVersion: "3.0.1",
        created: wholeSeconds(createTime),
        createdBy: [idOf("agent")],
        createdUsing: [idOf("tool")],
      },
      element("SoftwareAgent", "agent", { name: `gantry-${toolVersion}` }),
      element("Tool", "tool", { name: `gantry-${toolVersion}` }),
      element("SpdxDocument", "document", {
        name: `${name}@${digest}`,
        ...(isComplete ? {} : { comment: incompleteText }),
        profileConformance: ["core", "software"],
        rootElement: [idOf("sbom")],
      }),
      element("software_Sbom", "sbom", { rootElement: [idOf("image")], software_sbomType: ["analyzed"] }),
      element("software_Package", "image", {
        name,
        software_packageVersion: digest,
        software_packageUrl: imagePurlOf(contents),
        software_primaryPurpose: "container",
        verifiedUsing: [{ type: "Hash", algorithm: "sha256", hashValue: digest.slice(digest.indexOf(":") + 1) }],
      }),
      ...system,
      ...listed,
      ...(inside.length === 0
        ? []
        : [
            element("Relationship", "contains", {
              from: idOf("image"),
              relationshipType: "contains",
              to: inside,
              completeness: isComplete ? "noAssertion" : "incomplete",
            }),
          ]),
    ],
  };
};
