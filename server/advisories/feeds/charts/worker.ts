// Worker thread that reads one chart.

import { answerDocument } from "../sbom/answer-document.ts";
import { readChart } from "./read-chart.ts";

answerDocument(readChart);
