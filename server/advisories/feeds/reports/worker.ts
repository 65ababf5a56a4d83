// Worker thread that reads one scanner report.

import { answerDocument } from "../sbom/answer-document.ts";
import { readReport } from "./read-report.ts";

answerDocument(readReport);
