// The OpenAPI document of version 2 and of our own operations matches the server (test/openapi/answers.ts).

import { methods } from "#contract/catalog.ts";
import { judgeEveryOperation } from "../openapi/answers.ts";

await judgeEveryOperation(methods, "/openapi.json");
