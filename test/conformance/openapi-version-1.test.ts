// The OpenAPI document of version 1 matches the server (test/openapi/answers.ts).

import { version1 } from "#contract/catalog.ts";
import { judgeEveryOperation } from "../openapi/answers.ts";

await judgeEveryOperation(version1, "/openapi/v1.json");
