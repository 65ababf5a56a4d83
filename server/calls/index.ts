// The public entry of the module: the record of each request, and what is told of it.

export { type Calls, newRequestId, openCalls } from "./calls.ts";
export {
  type CallProtocol,
  CallRecord,
  countStatement,
  currentCall,
  describeCall,
  refuseCall,
  runInCall,
  waitForDatabase,
  waitForTurn,
} from "./record.ts";
