// Reads a resource with its ETag, then shows the form that changes it.

import { type ReactNode, useEffect, useState } from "react";
import { type Question, useAsk } from "./api.ts";
import type { Version } from "./conflict.tsx";
import { Dialog } from "./dialog.tsx";
import { Failure, Skeleton } from "./parts.tsx";

interface EditProps<Resource> {
  readonly title: string;
  readonly read: Question<Version<Resource>>;
  readonly form: (version: Version<Resource>) => ReactNode;
  readonly onClose: () => void;
}

export const Edit = <Resource,>({ title, read, form, onClose }: EditProps<Resource>): ReactNode => {
  const { data, error, isFetching, refetch } = useAsk(read);
  const [opened, setOpened] = useState<Version<Resource>>();
  useEffect(() => {
    // What an earlier form has read can be outdated.
    if (data && !isFetching) setOpened((before) => before ?? data.data);
  }, [data, isFetching]);
  if (opened) return form(opened);
  return (
    <Dialog label={title} className="dialog form-dialog" onClose={onClose}>
      {error ? <Failure error={error} retry={() => void refetch()} /> : <Skeleton rows={4} />}
    </Dialog>
  );
};
