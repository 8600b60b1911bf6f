{{- define "dialler.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "dialler.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "dialler.labels" -}}
{{ include "dialler.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "dialler.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* How a node itself is asked: with a certificate it answers nothing but HTTPS. */}}
{{- define "dialler.scheme" -}}
{{- if or (eq (toString (get .Values.config "tls-own")) "true") (get .Values.config "tls-cert") }}https{{ else }}http{{ end }}
{{- end }}

{{- define "dialler.publicURL" -}}
{{- if .Values.publicURL }}{{ .Values.publicURL }}
{{- else if and .Values.ingress.enabled .Values.ingress.host }}https://{{ .Values.ingress.host }}
{{- else }}{{ include "dialler.scheme" . }}://{{ include "dialler.name" . }}.{{ .Release.Namespace }}.svc:{{ .Values.service.port }}
{{- end }}
{{- end }}

{{/* Where the database is, for every container that asks it. */}}
{{- define "dialler.databaseEnv" -}}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      {{- if .Values.database.existingSecret }}
      name: {{ .Values.database.existingSecret }}
      key: {{ .Values.database.key }}
      {{- else }}
      name: {{ include "dialler.name" . }}-database
      key: DATABASE_URL
      {{- end }}
{{- end }}

{{/* The installation's signing key, for every container that signs or audits. */}}
{{- define "dialler.signingVolume" -}}
{{- with .Values.signingKey.existingSecret }}
- name: signing
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}
{{- end }}

{{/* Whom pods run as. */}}
{{- define "dialler.accountName" -}}
{{- .Values.serviceAccount.name | default (include "dialler.name" .) }}
{{- end }}
{{- define "dialler.account" -}}
{{- if or .Values.serviceAccount.create .Values.serviceAccount.name -}}
serviceAccountName: {{ include "dialler.accountName" . }}
{{- end }}
{{- end }}

{{- define "dialler.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "dialler.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* What must not be left to a pod that does not come up. */}}
{{- define "dialler.check" -}}
{{- if not .Values.image.repository }}
{{- fail "image.repository must say where your image is: none is published; build it with deploy/container/Containerfile and push it (docs/operations.md, In a container)" }}
{{- end }}
{{- if not (or .Values.database.existingSecret .Values.database.url) }}
{{- fail "database.existingSecret (or, for trials, database.url) must say where PostgreSQL is" }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) (not .Values.cluster.url) }}
{{- fail "more than one node needs cluster.url: without it every node would dial the same campaigns" }}
{{- end }}
{{- if and .Values.cluster.url (not .Values.signingKey.existingSecret) }}
{{- fail "a cluster needs signingKey.existingSecret: every node signs with the same key" }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress.enabled needs ingress.host" }}
{{- end }}
{{- end }}
