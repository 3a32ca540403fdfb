{{/* Gives every selector, template and object the label that kustomize gives them. Changes the object in place. */}}
{{- define "gcs.label" -}}
{{- $name := "app.kubernetes.io/name" -}}
{{- $item := .item -}}
{{- $_ := set $item.metadata "labels" (merge (dict $name "gcs") ($item.metadata.labels | default dict)) -}}
{{- $spec := $item.spec | default dict -}}
{{- if has $item.kind (list "StatefulSet" "Deployment" "PodDisruptionBudget") -}}
{{- $_ := set $spec.selector.matchLabels $name "gcs" -}}
{{- else if eq $item.kind "Service" -}}
{{- $_ := set $spec.selector $name "gcs" -}}
{{- else if eq $item.kind "NetworkPolicy" -}}
{{- if $spec.podSelector.matchLabels }}{{ $_ := set $spec.podSelector.matchLabels $name "gcs" }}{{ end -}}
{{- range $rule := concat ($spec.ingress | default list) ($spec.egress | default list) -}}
{{- range $peer := concat ($rule.from | default list) ($rule.to | default list) -}}
{{- if $peer.podSelector }}{{ if $peer.podSelector.matchLabels }}{{ $_ := set $peer.podSelector.matchLabels $name "gcs" }}{{ end }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if eq $item.kind "CronJob" -}}
{{- $_ := set $spec.jobTemplate "metadata" (dict "labels" (dict $name "gcs")) -}}
{{- $spec = $spec.jobTemplate.spec -}}
{{- end -}}
{{- if $spec.template -}}
{{- $_ := set $spec.template.metadata.labels $name "gcs" -}}
{{- range $spread := $spec.template.spec.topologySpreadConstraints | default list -}}
{{- $_ := set $spread.labelSelector.matchLabels $name "gcs" -}}
{{- end -}}
{{- end -}}
{{- range $claim := $spec.volumeClaimTemplates | default list -}}
{{- $_ := set $claim.metadata "labels" (dict $name "gcs") -}}
{{- end -}}
{{- end -}}

{{/* Images, pull secrets, disks and resources, as the values have them. Changes the object in place. */}}
{{- define "gcs.fit" -}}
{{- $item := .item -}}
{{- $values := .root.Values -}}
{{- $spec := $item.spec | default dict -}}
{{- if eq $item.kind "CronJob" }}{{ $spec = $spec.jobTemplate.spec }}{{ end -}}
{{- if $spec.template -}}
{{- $pod := $spec.template.spec -}}
{{- $image := printf "%s:%s" $values.image.repository ($values.image.tag | default .root.Chart.AppVersion) -}}
{{- range $container := concat ($pod.initContainers | default list) $pod.containers -}}
{{- if eq $container.image "gcs" }}{{ $_ := set $container "image" $image }}{{ end -}}
{{- end -}}
{{- if $values.pullSecrets -}}
{{- $secrets := list }}{{ range $values.pullSecrets }}{{ $secrets = append $secrets (dict "name" .) }}{{ end -}}
{{- $_ := set $pod "imagePullSecrets" $secrets -}}
{{- end -}}
{{- $component := index $spec.template.metadata.labels "app.kubernetes.io/component" -}}
{{- with index $values.resources $component }}{{ $_ := set (first $pod.containers) "resources" . }}{{ end -}}
{{- range $claim := $spec.volumeClaimTemplates | default list -}}
{{- $_ := set $claim.spec.resources.requests "storage" (index $values.disks $component) -}}
{{- with $values.storageClass }}{{ $_ := set $claim.spec "storageClassName" . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Sets a variable of the first container of a pod: dict "pod" "name" "value". */}}
{{- define "gcs.variable" -}}
{{- $name := .name -}}{{- $value := .value -}}
{{- range $variable := (first .pod.containers).env -}}
{{- if eq $variable.name $name }}{{ $_ := set $variable "value" $value }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* The object, labelled, in this namespace, with the overrides of its name; as a document. */}}
{{- define "gcs.document" -}}
{{- $item := .item -}}
{{- $_ := set $item.metadata "namespace" .root.Release.Namespace -}}
{{- range $subject := $item.subjects | default list }}{{ $_ := set $subject "namespace" $.root.Release.Namespace }}{{ end -}}
{{- include "gcs.fit" . -}}
{{- include "gcs.label" . -}}
{{- with index .root.Values.overrides (printf "%s/%s" $item.kind $item.metadata.name) -}}
{{- $item = mergeOverwrite $item (deepCopy .) -}}
{{- end }}
---
{{ toYaml $item }}
{{- end -}}

{{/* What a crawl's own objects differ in: their names and selectors, its name, seeds, settings, store, schedule. */}}
{{- define "gcs.crawl" -}}
{{- $item := .item -}}{{- $crawl := .crawl -}}{{- $suffix := .suffix -}}{{- $values := .root.Values -}}
{{- $_ := set $item.metadata "name" (printf "%s%s" $item.metadata.name $suffix) -}}
{{- $spec := $item.spec -}}
{{- if has $item.kind (list "StatefulSet" "Deployment" "PodDisruptionBudget") }}{{ $_ := set $spec.selector.matchLabels "gcs/crawl" $crawl.name }}{{ end -}}
{{- if eq $item.kind "Service" }}{{ $_ := set $spec.selector "gcs/crawl" $crawl.name }}{{ end -}}
{{- if eq $item.kind "CronJob" -}}
{{- with $crawl.schedule }}{{ $_ := set $spec "schedule" . }}{{ $_ := set $spec "suspend" false }}{{ end -}}
{{- $spec = $spec.jobTemplate.spec -}}
{{- end -}}
{{- if eq $item.kind "StatefulSet" -}}
{{- $_ := set $spec "replicas" ($crawl.gatherers | default 2 | int) -}}
{{- $_ := set $spec "serviceName" (printf "%s%s" $spec.serviceName $suffix) -}}
{{- range $spread := $spec.template.spec.topologySpreadConstraints -}}
{{- $_ := set $spread.labelSelector.matchLabels "gcs/crawl" $crawl.name -}}
{{- end -}}
{{- end -}}
{{- if $spec.template -}}
{{- $pod := $spec.template.spec -}}
{{- if has $item.kind (list "StatefulSet" "Deployment") }}{{ $_ := set $spec.template.metadata.labels "gcs/crawl" $crawl.name }}{{ end -}}
{{- $store := printf "%s/%s" ($values.store.url | default "s3://gcs" | trimSuffix "/") $crawl.name -}}
{{- include "gcs.variable" (dict "pod" $pod "name" "CRAWL_NAME" "value" $crawl.name) -}}
{{- include "gcs.variable" (dict "pod" $pod "name" "GCS_CRAWL_NAME" "value" $crawl.name) -}}
{{- include "gcs.variable" (dict "pod" $pod "name" "GCS_ALLOW" "value" (printf "store=%s" $store)) -}}
{{- include "gcs.variable" (dict "pod" $pod "name" "GCS_STORE_URL" "value" $store) -}}
{{- range $volume := $pod.volumes | default list -}}
{{- if $volume.configMap }}{{ $_ := set $volume.configMap "name" (printf "gcs-configs%s" $suffix) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
