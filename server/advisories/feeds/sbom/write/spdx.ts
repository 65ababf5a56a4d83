// SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/).

import type { JsonObject } from "#base/json.ts";
import { documentIdOf, foundInText, imagePurlOf, incompleteText, packageIdOf, type SbomContents, wholeSeconds } from "./sbom-contents.ts";

const unknown = { downloadLocation: "NOASSERTION", filesAnalyzed: false, licenseConcluded: "NOASSERTION", licenseDeclared: "NOASSERTION" };

const purlReference = (purl: string): JsonObject => ({ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl });

export const spdxDocument = (contents: SbomContents): JsonObject => {
  const { name, digest, operatingSystem: os, createTime, isComplete, toolVersion, publicUrl, packages } = contents;
  const listed = packages.map((each): JsonObject => {
    const foundIn = foundInText(each);
    return {
      SPDXID: `SPDXRef-Package-${packageIdOf(each)}`,
      name: each.name,
      versionInfo: each.version,
      ...unknown,
      copyrightText: "NOASSERTION",
      ...(foundIn === "" ? {} : { sourceInfo: foundIn }),
      comment: `origins: ${each.origins.join(", ")}`,
      externalRefs: [purlReference(each.purl)],
    };
  });
  const image: JsonObject = {
    SPDXID: "SPDXRef-Image",
    name,
    versionInfo: digest,
    ...unknown,
    copyrightText: "NOASSERTION",
    primaryPackagePurpose: "CONTAINER",
    checksums: [{ algorithm: "SHA256", checksumValue: digest.slice(digest.indexOf(":") + 1) }],
    externalRefs: [purlReference(imagePurlOf(contents))],
  };
  const system: JsonObject[] = os
    ? [{ SPDXID: "SPDXRef-OperatingSystem", name: os.id, versionInfo: os.version, ...unknown, primaryPackagePurpose: "OPERATING_SYSTEM", description: os.name }]
    : [];
  const inside = [...system, ...listed];
  return {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `${name}@${digest}`,
    documentNamespace: `${publicUrl}/spdx/${documentIdOf(contents)}`,
    ...(isComplete ? {} : { comment: incompleteText }),
    creationInfo: { created: wholeSeconds(createTime), creators: [`Tool: gantry-${toolVersion}`] },
    packages: [image, ...inside],
    relationships: [
      { spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: "SPDXRef-Image" },
      ...inside.map((each): JsonObject => ({ spdxElementId: "SPDXRef-Image", relationshipType: "CONTAINS", relatedSpdxElement: each.SPDXID ?? "" })),
    ],
  };
};
