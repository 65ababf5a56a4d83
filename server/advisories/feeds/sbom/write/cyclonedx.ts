// CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/).

import type { JsonObject } from "#base/json.ts";
import { documentIdOf, imagePurlOf, packageIdOf, type SbomContents, type SbomContentsPackage } from "./sbom-contents.ts";

const propertiesOf = ({ layer, path, database, origins }: SbomContentsPackage): JsonObject[] =>
  Object.entries({ layer, path, database, origins: origins.join(" ") }).flatMap(([name, value]) => (value === "" ? [] : [{ name: `gantry:${name}`, value }]));

export const cyclonedxDocument = (contents: SbomContents): JsonObject => {
  const { name, digest, operatingSystem: os, createTime, isComplete, toolVersion, packages } = contents;
  const image = imagePurlOf(contents);
  const system: JsonObject[] = os
    ? [
        {
          type: "operating-system",
          "bom-ref": "operating-system",
          name: os.id,
          ...(os.version === "" ? {} : { version: os.version }),
          ...(os.name === "" ? {} : { description: os.name }),
        },
      ]
    : [];
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${documentIdOf(contents)}`,
    version: 1,
    metadata: {
      timestamp: createTime,
      tools: { components: [{ type: "application", name: "gantry", version: toolVersion }] },
      component: { type: "container", "bom-ref": image, name, version: digest, purl: image },
    },
    components: [
      ...system,
      ...packages.map(
        (each): JsonObject => ({
          type: "library",
          "bom-ref": `package-${packageIdOf(each)}`,
          name: each.name,
          version: each.version,
          purl: each.purl,
          ...(each.path === "" ? {} : { evidence: { occurrences: [{ location: each.path }] } }),
          properties: propertiesOf(each),
        }),
      ),
    ],
    ...(isComplete ? {} : { compositions: [{ aggregate: "incomplete", assemblies: [image] }] }),
  };
};
