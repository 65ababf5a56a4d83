// The thread that reads one report of a scanner.

import { answerDocument } from "../sbom/answer-document.ts";
import { readReport } from "./read-report.ts";

answerDocument(readReport);
