// Worker thread that reads one SBOM.

import { answerDocument } from "./answer-document.ts";
import { readSbom } from "./read-sbom.ts";

answerDocument(readSbom);
