{{- define "gantry.name" -}}
{{- $name := contains "gantry" .Release.Name | ternary .Release.Name (printf "%s-gantry" .Release.Name) }}
{{- $name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* Also the selector, which Kubernetes lets nobody change later. */}}
{{- define "gantry.labels" -}}
app.kubernetes.io/name: {{ include "gantry.name" . }}
{{- end }}

{{- define "gantry.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* "true" if more than one server may run, also for the moment of a rollout. */}}
{{- define "gantry.several" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) }}true{{ end }}
{{- end }}

{{/* "true" if the pod keeps nothing: database and image layers are elsewhere. */}}
{{- define "gantry.stateless" -}}
{{- if and .Values.database.existingSecret (hasPrefix "s3://" .Values.storage.blobs) }}true{{ end }}
{{- end }}

{{- define "gantry.check" -}}
{{- $values := .Values -}}
{{- if not $values.publicUrl }}{{ fail "publicUrl is required, such as https://gantry.example.com" }}{{ end }}
{{- if include "gantry.several" . }}
{{- $what := ternary "autoscaling.enabled" (printf "replicas: %v" $values.replicas) $values.autoscaling.enabled }}
{{- if not $values.database.existingSecret }}
{{- fail (printf "%s needs a PostgreSQL that all servers share: set database.existingSecret" $what) }}
{{- end }}
{{- if not (hasPrefix "s3://" $values.storage.blobs) }}
{{- fail (printf "%s needs a storage that all servers share: set storage.blobs to an s3:// address" $what) }}
{{- end }}
{{- end }}
{{- if and $values.database.existingSecret (not $values.secretKey.existingSecret) }}
{{- fail "database.existingSecret needs secretKey.existingSecret: the key must outlive the pod" }}
{{- end }}
{{- if and (not $values.database.existingSecret) (or $values.database.owner.existingSecret $values.database.readReplica.existingSecret) }}
{{- fail "database.owner and database.readReplica need database.existingSecret" }}
{{- end }}
{{- if and $values.metrics.serviceMonitor.enabled (not $values.metrics.enabled) }}{{ fail "metrics.serviceMonitor.enabled needs metrics.enabled" }}{{ end }}
{{- if gt (int $values.autoscaling.minReplicas) (int $values.autoscaling.maxReplicas) }}
{{- fail "autoscaling.minReplicas must not be above autoscaling.maxReplicas" }}
{{- end }}
{{- if and (include "gantry.several" .) (not $values.autoscaling.enabled) (ge (int $values.podDisruptionBudget.minAvailable) (int $values.replicas)) }}
{{- fail "podDisruptionBudget.minAvailable must be below replicas, or no node can be drained" }}
{{- end }}
{{- $own := list "GANTRY_PUBLIC_URL" "GANTRY_SECRET_KEY_FILE" "GANTRY_BLOBS" "GANTRY_METRICS_LISTEN" "GANTRY_LISTEN" "GANTRY_DATA" }}
{{- range $name, $value := $values.config }}
{{- if has $name $own }}{{ fail (printf "config.%s: the chart sets this itself, from its own values" $name) }}{{ end }}
{{- end }}
{{- end }}

{{- define "gantry.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "gantry.volumeMounts" -}}
{{- if .Values.secretKey.existingSecret }}
- name: key
  mountPath: /etc/gantry
  readOnly: true
{{- end }}
- name: data
  mountPath: /data
- name: tmp
  mountPath: /tmp
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "gantry.fromSecret" -}}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
{{- end }}
