// Worker thread that reads one OpenVEX document.

import { answerDocument } from "../sbom/answer-document.ts";
import { readVex } from "./read-vex.ts";

answerDocument(readVex);
