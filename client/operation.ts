// An operation as the client needs it: its path, and whether it can be retried. The facts of the contract (contract/facts.ts)
// have this shape; the package uses a smaller generated table (client/gen/operations.ts).

export interface FieldShape {
  /** Its name in JSON. */
  readonly json: string;
  /** "list" if it holds any number of values. */
  readonly shape: string;
  /** The message that it holds. */
  readonly message: MessageShape | undefined;
}

export interface MessageShape {
  readonly fields: readonly FieldShape[];
  /** By each name that a request may use. */
  readonly byName: ReadonlyMap<string, FieldShape>;
}

export interface OperationShape {
  /** "chainguard.platform.iam.v2.GroupsService/GetGroup" */
  readonly name: string;
  /** "GetGroup" */
  readonly rpc: string;
  readonly http: readonly {
    readonly verb: string;
    /** "/iam/v2/groups/{uid=**}" */
    readonly template: string;
    /** The field that the body holds; "*" for the whole request; "" for none. */
    readonly body: string;
  }[];
  readonly input: MessageShape;
  readonly output: MessageShape;
  readonly writes: boolean;
  /** True if it needs no token. */
  readonly open: boolean;
  readonly givesFile: boolean;
  /** Its path in another protocol, for which the server stores no idempotency keys; undefined if there is none. */
  readonly distribution: object | undefined;
  readonly scim: object | undefined;
}

/** Returns whether repeating the request has no further effect. */
export const isSafeToRepeat = ({ writes }: OperationShape): boolean => !writes;

/** Returns whether the server stores the first response for an idempotency key (decisions: Safe writes). */
export const takesIdempotencyKey = ({ writes, open, distribution, scim }: OperationShape): boolean =>
  writes && !open && distribution === undefined && scim === undefined;

/** Returns the response field with the list: its only list of messages; undefined if there is none or several. */
export const listedField = ({ output }: Pick<OperationShape, "output">): FieldShape | undefined => {
  const [first, second] = output.fields.filter(({ shape, message }) => shape === "list" && message !== undefined);
  return second === undefined ? first : undefined;
};
