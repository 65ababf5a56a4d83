// Writers of SBOMs of images. The same contents have the same document.

import { cyclonedxDocument } from "./cyclonedx.ts";
import { spdxDocument } from "./spdx.ts";
import { spdx3Document } from "./spdx3.ts";

export type { SbomContents } from "./sbom-contents.ts";

export const sbomWriters = { SPDX_2_3: spdxDocument, SPDX_3_0: spdx3Document, CYCLONEDX_1_6: cyclonedxDocument } as const;

export type SbomWriterName = keyof typeof sbomWriters;
