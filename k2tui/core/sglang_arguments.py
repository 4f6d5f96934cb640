"""The arguments of SGLang by version, read from the releases' own source (the dataclass or struct `ServerArgs`)."""

from __future__ import annotations

from collections.abc import Mapping

VERSIONS = (
    "0.4.6.post5",
    "0.5.2",
    "0.5.6",
    "0.5.8",
    "0.5.9",
    "0.5.10",
    "0.5.11",
    "0.5.12",
    "0.5.15",
    "0.5.18",
    "0.5.23",
)
"""Those whose source was read, oldest first."""

NAMES: Mapping[str, str] = {
    "0.4.6.post5 0.4.6.post5": """
        n_share_experts_fusion pdlb_url
    """,
    "0.4.6.post5 0.5.2": """
        enable_deepep_moe enable_ep_moe max_micro_batch_size
    """,
    "0.4.6.post5 0.5.9": """
        stream_output
    """,
    "0.4.6.post5 0.5.10": """
        collect_tokens_histogram ds_channel_config_path ds_heavy_channel_num ds_heavy_channel_type ds_heavy_token_num
        ds_sparse_decode_threshold enable_double_sparsity
    """,
    "0.4.6.post5 0.5.12": """
        cuda_graph_bs cuda_graph_max_bs debug_tensor_dump_inject enable_nan_detection
    """,
    "0.4.6.post5 0.5.15": """
        enable_expert_distribution_metrics torchao_config
    """,
    "0.4.6.post5 0.5.23": """
        allow_auto_truncate api_key attention_backend base_gpu_id bucket_e2e_request_latency bucket_inter_token_latency
        bucket_time_to_first_token chat_template chunked_prefill_size completion_template
        constrained_json_whitespace_pattern context_length cpu_offload_gb debug_tensor_dump_input_file
        debug_tensor_dump_output_folder decode_log_interval deepep_config deepep_mode delete_ckpt_after_loading device
        disable_chunked_prefix_cache disable_cuda_graph disable_cuda_graph_padding disable_custom_all_reduce
        disable_fast_image_processor disable_outlines_disk_cache disable_overlap_schedule disable_radix_cache
        disaggregation_bootstrap_port disaggregation_ib_device disaggregation_mode disaggregation_transfer_backend
        dist_init_addr dist_timeout download_dir dp_size dtype enable_cache_report enable_custom_logit_processor
        enable_dp_attention enable_dp_lm_head enable_eplb enable_hierarchical_cache enable_memory_saver enable_metrics
        enable_mixed_chunk enable_multimodal enable_nccl_nvls enable_p2p_check enable_request_time_stats_logging
        enable_tokenizer_batch_encode enable_torch_compile ep_dispatch_algorithm ep_num_redundant_experts ep_size
        eplb_rebalance_num_iterations expert_distribution_recorder_buffer_size expert_distribution_recorder_mode
        file_storage_path flashinfer_mla_disable_ragged gpu_id_step grammar_backend hicache_ratio hicache_size
        hicache_write_policy host init_expert_location is_embedding json_model_override_args kv_cache_dtype
        kv_events_config load_balance_method load_format log_level log_level_http log_requests log_requests_level
        lora_backend lora_paths max_loras_per_batch max_prefill_tokens max_running_requests max_total_tokens
        mem_fraction_static mm_attention_backend model_path moe_dense_tp_size nnodes node_rank
        num_continuous_decode_steps page_size port pp_size preferred_sampling_params quantization
        quantization_param_path random_seed reasoning_parser revision sampling_backend schedule_conservativeness
        schedule_policy served_model_name show_time_cost skip_tokenizer_init speculative_accept_threshold_acc
        speculative_accept_threshold_single speculative_algorithm speculative_draft_model_path speculative_eagle_topk
        speculative_num_draft_tokens speculative_num_steps speculative_token_map stream_interval tokenizer_mode
        tokenizer_path tool_call_parser torch_compile_max_bs tp_size triton_attention_num_kv_splits
        triton_attention_reduce_in_fp32 trust_remote_code warmups watchdog_timeout
    """,
    "0.5.2 0.5.2": """
        debug_tensor_dump_prefill_only enable_flashinfer_cutlass_moe enable_flashinfer_mxfp4_moe
        enable_flashinfer_trtllm_moe enable_triton_kernel_moe
    """,
    "0.5.2 0.5.6": """
        hybrid_kvcache_ratio prefill_round_robin_balance
    """,
    "0.5.2 0.5.9": """
        disaggregation_decode_dp disaggregation_decode_tp disaggregation_prefill_pp
    """,
    "0.5.2 0.5.23": """
        crash_dump_folder custom_weight_loader decode_attention_backend disable_flashinfer_cutlass_moe_fp4_allgather
        disable_hybrid_swa_memory disable_shared_experts_fusion enable_cudagraph_gc enable_flashinfer_allreduce_fusion
        enable_lmcache enable_lora enable_metrics_for_all_schedulers enable_mscclpp enable_pdmux
        enable_profile_cuda_graph enable_return_hidden_states enable_symm_mem enable_two_batch_overlap eplb_algorithm
        eplb_min_rebalancing_utilization_threshold eplb_rebalance_layers_per_chunk flashinfer_mxfp4_moe_precision
        gc_warning_threshold_secs generation_tokens_buckets hicache_io_backend hicache_mem_layout
        hicache_storage_backend hicache_storage_backend_extra_config hicache_storage_prefetch_policy lora_target_modules
        mamba_ssm_dtype max_loaded_loras max_lora_rank max_mamba_cache_size max_queued_requests model_impl
        model_loader_extra_config moe_a2a_backend moe_runner_backend nccl_port num_reserved_decode_tokens numa_node
        offload_group_size offload_mode offload_num_in_group offload_prefetch_step prefill_attention_backend
        prompt_tokens_buckets scheduler_recv_interval skip_server_warmup sleep_on_idle sm_group_num
        speculative_attention_mode speculative_draft_model_revision swa_full_tokens_ratio
        tbo_token_distribution_threshold tokenizer_worker_num tool_server weight_loader_disable_mmap weight_version
    """,
    "0.5.6 0.5.6": """
        dllm_block_size enable_flashinfer_autotune load_watch_interval
    """,
    "0.5.6 0.5.9": """
        enable_piecewise_cuda_graph mm_max_concurrent_calls mm_per_request_timeout speculative_ngram_branch_length
        speculative_ngram_max_match_window_size speculative_ngram_min_match_window_size
    """,
    "0.5.6 0.5.10": """
        multi_item_scoring_delimiter
    """,
    "0.5.6 0.5.12": """
        enable_nsa_prefill_context_parallel nsa_decode_backend nsa_prefill_backend piecewise_cuda_graph_compiler
        piecewise_cuda_graph_max_tokens piecewise_cuda_graph_tokens
    """,
    "0.5.6 0.5.18": """
        keep_mm_feature_on_device
    """,
    "0.5.6 0.5.23": """
        abort_on_priority_when_disabled checkpoint_engine_wait_weights_before_ready
        constrained_json_disable_any_whitespace debug_tensor_dump_layers decrypted_config_file
        decrypted_draft_config_file disable_tokenizer_batch_decode disaggregation_decode_enable_offload_kvcache
        disaggregation_decode_polling_interval dllm_algorithm dynamic_batch_tokenizer_batch_size
        dynamic_batch_tokenizer_batch_timeout elastic_ep_backend enable_attn_tp_input_scattered
        enable_broadcast_mm_inputs_process enable_deterministic_inference enable_draft_weights_cpu_backup
        enable_dynamic_batch_tokenizer enable_fp32_lm_head enable_layerwise_nvtx_marker enable_priority_scheduling
        enable_single_batch_overlap enable_torch_compile_debug_mode enable_torch_symm_mem enable_trace
        enable_weights_cpu_backup export_metrics_to_file export_metrics_to_file_dir fastapi_root_path forward_hooks
        grpc_mode kt_cpuinfer kt_max_deferred_experts_per_token kt_method kt_num_gpu_experts kt_threadpool_count
        kt_weight_path lora_eviction_policy mamba_full_memory_ratio max_lora_chunk_size mm_enable_dp_encoder
        mm_process_config modelopt_checkpoint_restore_path modelopt_checkpoint_save_path modelopt_export_path
        modelopt_quant mooncake_ib_device otlp_traces_endpoint pdmux_config_path pp_max_micro_batch_size
        priority_scheduling_preemption_threshold quantize_and_serve radix_eviction_policy
        remote_instance_weight_loader_seed_instance_ip remote_instance_weight_loader_seed_instance_service_port
        remote_instance_weight_loader_send_weights_group_ports rl_on_policy_target sampling_defaults
        schedule_low_priority_values_first speculative_draft_load_format speculative_moe_runner_backend
        speculative_ngram_capacity speculative_ngram_match_type speculative_ngram_max_bfs_breadth
        speculative_ngram_min_bfs_breadth tokenizer_metrics_allowed_custom_labels tokenizer_metrics_custom_labels_header
        triton_attention_split_tile_size
    """,
    "0.5.8 0.5.8": """
        disaggregation_decode_enable_fake_auto
    """,
    "0.5.8 0.5.9": """
        disable_hicache_numa_detect hierarchical_sparse_attention_extra_config
    """,
    "0.5.8 0.5.12": """
        mamba_scheduler_strategy nsa_prefill_cp_mode
    """,
    "0.5.8 0.5.23": """
        admin_api_key custom_sigquit_handler disable_flashinfer_autotune dllm_algorithm_config enable_dynamic_chunking
        enable_fused_qk_norm_rope enable_lora_overlap_loading enable_multi_layer_eagle
        enable_precise_embedding_interpolation enable_prefill_delayer enable_prefix_mm_cache
        enable_return_routed_experts encoder_only encoder_transfer_backend encoder_urls fp4_gemm_runner_backend
        fp8_gemm_runner_backend hf_chat_template_name language_only limit_mm_data_per_request log_requests_format
        log_requests_target mamba_track_interval model_checksum pp_async_batch_depth
        prefill_delayer_forward_passes_buckets prefill_delayer_max_delay_passes
        prefill_delayer_token_usage_low_watermark prefill_delayer_wait_seconds_buckets prefill_max_requests
        remote_instance_weight_loader_backend remote_instance_weight_loader_start_seed_via_transfer_engine
        rl_quant_profile soft_watchdog_timeout speculative_draft_attention_backend speculative_draft_model_quantization
        speculative_moe_a2a_backend uvicorn_access_log_exclude_prefixes
    """,
    "0.5.9 0.5.23": """
        attn_cp_size extra_metric_labels mamba_backend moe_dp_size
    """,
    "0.5.10 0.5.12": """
        disable_piecewise_cuda_graph enforce_piecewise_cuda_graph
    """,
    "0.5.10 0.5.18": """
        enable_prefill_context_parallel prefill_cp_mode
    """,
    "0.5.10 0.5.23": """
        default_priority_value disable_priority_preemption enable_adaptive_dispatch_to_encoder
        enable_aiter_allreduce_fusion enable_elastic_expert_backup enable_fused_moe_sum_all_reduce enable_hisparse
        enable_mfu_metrics enable_mm_global_cache enable_ssl_refresh enable_streaming_session
        enforce_disable_flashinfer_allreduce_fusion engine_info_bootstrap_port experts_shared_outer_loras gc_threshold
        hisparse_config incremental_streaming_output linear_attn_backend linear_attn_decode_backend
        linear_attn_prefill_backend modelexpress_config pre_warm_nccl speculative_ngram_max_trie_depth ssl_ca_certs
        ssl_certfile ssl_keyfile ssl_keyfile_password stream_response_default_include_usage use_ray
    """,
    "0.5.11 0.5.11": """
        speculative_dflash_draft_window_size
    """,
    "0.5.11 0.5.12": """
        enable_breakable_cuda_graph record_nolora_graph
    """,
    "0.5.11 0.5.15": """
        grpc_http_sidecar_port
    """,
    "0.5.11 0.5.18": """
        elastic_ep_rejoin speculative_skip_dp_mlp_sync
    """,
    "0.5.11 0.5.23": """
        batch_notify_size debug_cuda_graph disaggregation_decode_enable_radix_cache
        enable_dp_attention_local_control_broadcast enable_http2 enable_mis enable_quant_communications
        enforce_shared_experts_fusion lora_strict_loading lora_use_virtual_experts msprobe_dump_config
        speculative_adaptive speculative_adaptive_config speculative_dflash_block_size
        speculative_ngram_external_corpus_max_tokens speculative_ngram_external_corpus_path
        speculative_ngram_external_sam_budget strip_thinking_cache tokenizer_backend weight_loader_prefetch_checkpoints
        weight_loader_prefetch_num_threads
    """,
    "0.5.12 0.5.15": """
        enable_deepep_waterfill
    """,
    "0.5.12 0.5.23": """
        detokenizer_worker_num enable_forward_pass_metrics enable_return_indexer_topk enable_strict_thinking
        forward_pass_metrics_ipc_name forward_pass_metrics_worker_id lora_drain_wait_threshold model_config_parser
        prefill_delayer_max_delay_ms prefill_delayer_queue_min_ratio prefill_only_disable_kv_cache
        speculative_draft_window_size weight_loader_drop_cache_after_load
    """,
    "0.5.15 0.5.15": """
        optimistic_prefill_retries
    """,
    "0.5.15 0.5.18": """
        cuda_graph_tc_compiler dsa_prefill_cp_mode enable_dsa_prefill_context_parallel
    """,
    "0.5.15 0.5.23": """
        asr_max_buffer_seconds asr_max_concurrent_sessions bf16_gemm_backend cp_strategy cuda_graph_backend_decode
        cuda_graph_backend_prefill cuda_graph_bs_decode cuda_graph_bs_prefill cuda_graph_config cuda_graph_max_bs_decode
        cuda_graph_max_bs_prefill dcp_size decoupled_spec_bind_endpoint decoupled_spec_connect_endpoints
        decoupled_spec_rank decoupled_spec_role deepep_dispatcher_output_dtype disable_attn_tp_gather
        disable_decode_cuda_graph disable_prefill_cuda_graph disaggregation_decode_extra_slots dsa_decode_backend
        dsa_paged_mqa_logits_backend dsa_prefill_backend dsa_topk_backend enable_deepseek_v4_fp4_indexer
        enable_int8_mamba_checkpoint enable_linear_replayssm enable_mamba_cache_stochastic_rounding
        enable_page_major_kv_layout enable_prefill_cp enable_session_radix_cache enable_tf32_matmul
        enable_unified_memory encoder_bootstrap_port encoder_register_urls flashinfer_allreduce_fusion_backend
        int8_mamba_ckpt_size kv_canary kv_canary_real_data kv_canary_sweep_interval linear_replayssm_cache_len
        lmcache_config_file load_snapshot_publish_interval mamba_cache_philox_rounds mamba_radix_cache_strategy
        min_free_slots_delay radix_cache_backend spec_trace_dir speculative_use_rejection_sampling stat_loggers
        trace_modules uses_mamba_radix_cache
    """,
    "0.5.18 0.5.23": """
        _speculative_draft_quantization_explicitly_set allowed_media_domains c128_page_size dcp_comm_backend
        dcp_replicate_q_proj default_chat_template_kwargs disaggregation_decode_retraction_backup dllm_fdfo dwdp_size
        elastic_ep_initial_size elastic_ep_scale_timeout enable_cp_decode_attn_tp enable_dsa_cache_layer_split
        enable_flexkv enable_linear_replayssm_spec enable_scattered_sconv enable_tp_lm_head_all_to_all enable_waterfill
        ep_join_mode ep_join_rank_offset expert_balancedness_report_mode flashinfer_autotune_skip_ops flexkv_config_file
        fuseep_mode grpc_port http2_max_concurrent_streams image_processor_backend language_model_only
        linear_attn_verify_backend mamba_max_states_per_path max_ep_size media_url_max_file_size_mb mlx_enable_sampling
        mm_feature_transport mm_global_cache_backend mm_io_worker_num mm_preprocess_cache_size_mb
        mm_processor_worker_num optimistic_prefill_attempts retraction_policy return_hidden_states_mode sidecar
        sidecar_args smg_grpc_mode smg_http_sidecar_port speculative_draft_kv_cache_dtype
        speculative_dspark_align_verify_tokens_to_graph_tier speculative_dspark_block_size
        speculative_dspark_confidence_sts_path speculative_dspark_sps_table_path startup_weight_load_mode
        trust_mm_content_hashes weight_cache_mode weight_cache_socket weight_cache_timeout
    """,
    "0.5.23 0.5.23": """
        _radix_eviction_policy_explicitly_set _swa_full_tokens_ratio_explicitly_set attn_dp_size
        aux_hidden_state_capture boundary_reduction config constrained_json_max_whitespace_cnt
        cuda_graph_max_seq_len_prefill cuda_graph_prefill_max_context deepep_v2_mode
        disable_aiter_allreduce_fusion_in_decode disable_aiter_allreduce_fusion_in_prefill
        disaggregation_decode_allocation_policy disaggregation_decode_host_receive_threshold
        disaggregation_enable_kv_checksum dsa_triton_union dsv4_attn_backend dsv4_prefill_backend enable_amd_monokernel
        enable_cp_tp_group_sharing enable_decoder_swa_bounded_replay enable_dense_mlp_attn_tp enable_dsa_fused_indexer
        enable_encoder_swa_bounded_replay enable_http_worker_reuseport enable_kv_cache_sharding enable_layernorm_sp
        enable_lean_attention enable_linker_mla_dedup enable_megamoe_for_layernorm_sp enable_nvidia_megakernel
        enable_paged_experts enable_pd_role_switch enable_response_store enable_return_aux_hidden_states
        enable_shared_experts_attn_tp enable_unified_cache_external_linker enable_w4a4_mxfp4_megamoe enable_watermark
        flashinfer_a2a_dispatch_type gated_launch_port grpc_response_timeout_secs grpc_worker_threads
        hicache_host_memory_fraction hicache_host_memory_mode hicache_storage_prefetch_retry_max_attempts
        hicache_storage_prefetch_retry_poll_interval http2_initial_connection_window_size load_publish_endpoint
        otlp_service_name paged_experts_num_resident ple_offload_backend ple_offload_dir ple_offload_embedding
        prefill_decode_interval prefill_decode_interval_min_bs prefill_kv_cache_dequant_dtype qsa_indexer_dtype
        radix_eviction_policy_config return_aux_hidden_state_layer_ids return_input_ids return_output_ids
        sampling_mask_max_tokens shared_experts_tp_size speculative_boundary_reduction
        speculative_domino_candidate_pool_size speculative_draft_sink_size speculative_dsa_topk_backend
        speculative_enable_w4a4_mxfp4_megamoe speculative_use_block_verification swa_prefix_tails
        trust_request_chat_template unified_cache_external_linker_backend unified_cache_external_linker_config
        uno_lora_path watermark_config watermark_context_window watermark_default_enabled watermark_enforce_all
        watermark_key watermark_key_b watermark_max_probability watermark_mixing_probability
    """,
}
"""`first last` version to the names of the fields that these, and all between, have."""
