//! Rows of the function table: the tool information interface.
//!
//! Written by tools/table.py; what stands after `=>` is kept by hand (see `table`).

#[doc(hidden)]
#[macro_export]
macro_rules! table_tool { ($emit:ident $with:tt) => { $emit! { $with
    both MPI_T_category_changed(update_number: *mut c_int) [tool] => tool::category::changed;
    both MPI_T_category_get_categories(cat_index: c_int, len: c_int, indices: *mut c_int)
        [tool] => tool::category::get_categories;
    both MPI_T_category_get_cvars(cat_index: c_int, len: c_int, indices: *mut c_int)
        [tool] => tool::category::get_cvars;
    both MPI_T_category_get_events(cat_index: c_int, len: c_int, indices: *mut c_int)
        [tool] => tool::category::get_events;
    both MPI_T_category_get_index(name: *const c_char, cat_index: *mut c_int) [tool] => tool::category::get_index;
    both MPI_T_category_get_info(cat_index: c_int, name: *mut c_char, name_len: *mut c_int, desc: *mut c_char,
        desc_len: *mut c_int, num_cvars: *mut c_int, num_pvars: *mut c_int, num_categories: *mut c_int)
        [tool] => tool::category::get_info;
    both MPI_T_category_get_num(num_cat: *mut c_int) [tool] => tool::category::get_num;
    both MPI_T_category_get_num_events(cat_index: c_int, num_events: *mut c_int)
        [tool] => tool::category::get_num_events;
    both MPI_T_category_get_pvars(cat_index: c_int, len: c_int, indices: *mut c_int)
        [tool] => tool::category::get_pvars;
    both MPI_T_cvar_get_index(name: *const c_char, cvar_index: *mut c_int) [tool] => tool::cvar::get_index;
    both MPI_T_cvar_get_info(cvar_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int,
        datatype: *mut Datatype, enumtype: *mut TEnum, desc: *mut c_char, desc_len: *mut c_int, bind: *mut c_int,
        scope: *mut c_int) [tool] => tool::cvar::get_info;
    both MPI_T_cvar_get_num(num_cvar: *mut c_int) [tool] => tool::cvar::get_num;
    both MPI_T_cvar_handle_alloc(cvar_index: c_int, obj_handle: *mut c_void, handle: *mut TCvarHandle,
        count: *mut c_int) [tool] => tool::cvar::handle_alloc;
    both MPI_T_cvar_handle_free(handle: *mut TCvarHandle) [tool] => tool::cvar::handle_free;
    both MPI_T_cvar_read(handle: TCvarHandle, buf: *mut c_void) [tool] => tool::cvar::read;
    both MPI_T_cvar_write(handle: TCvarHandle, buf: *const c_void) [tool] => tool::cvar::write;
    both MPI_T_enum_get_info(enumtype: TEnum, num: *mut c_int, name: *mut c_char, name_len: *mut c_int)
        [tool] => tool::enum_get_info;
    both MPI_T_enum_get_item(enumtype: TEnum, indx: c_int, value: *mut c_int, name: *mut c_char, name_len: *mut c_int)
        [tool] => tool::enum_get_item;
    both MPI_T_event_callback_get_info(event_registration: TEventRegistration, cb_safety: TCbSafety,
        info_used: *mut Info) [tool] => tool::event::callback_get_info;
    both MPI_T_event_callback_set_info(event_registration: TEventRegistration, cb_safety: TCbSafety, info: Info)
        [tool] => tool::event::callback_set_info;
    both MPI_T_event_copy(event_instance: TEventInstance, buffer: *mut c_void) [tool] => tool::event::copy;
    both MPI_T_event_get_index(name: *const c_char, event_index: *mut c_int) [tool] => tool::event::get_index;
    both MPI_T_event_get_info(event_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int,
        array_of_datatypes: *mut Datatype, array_of_displacements: *mut Aint, num_elements: *mut c_int,
        enumtype: *mut TEnum, info: *mut Info, desc: *mut c_char, desc_len: *mut c_int, bind: *mut c_int)
        [tool] => tool::event::get_info;
    both MPI_T_event_get_num(num_events: *mut c_int) [tool] => tool::event::get_num;
    both MPI_T_event_get_source(event_instance: TEventInstance, source_index: *mut c_int)
        [tool] => tool::event::get_source;
    both MPI_T_event_get_timestamp(event_instance: TEventInstance, event_timestamp: *mut Count)
        [tool] => tool::event::get_timestamp;
    both MPI_T_event_handle_alloc(event_index: c_int, obj_handle: *mut c_void, info: Info,
        event_registration: *mut TEventRegistration) [tool] => tool::event::handle_alloc;
    both MPI_T_event_handle_free(event_registration: TEventRegistration, user_data: *mut c_void,
        free_cb_function: TEventFreeCbFunction) [tool] => tool::event::handle_free;
    both MPI_T_event_handle_get_info(event_registration: TEventRegistration, info_used: *mut Info)
        [tool] => tool::event::handle_get_info;
    both MPI_T_event_handle_set_info(event_registration: TEventRegistration, info: Info)
        [tool] => tool::event::handle_set_info;
    both MPI_T_event_read(event_instance: TEventInstance, element_index: c_int, buffer: *mut c_void)
        [tool] => tool::event::read;
    both MPI_T_event_register_callback(event_registration: TEventRegistration, cb_safety: TCbSafety, info: Info,
        user_data: *mut c_void, event_cb_function: TEventCbFunction) [tool] => tool::event::register_callback;
    both MPI_T_event_set_dropped_handler(event_registration: TEventRegistration,
        dropped_cb_function: TEventDroppedCbFunction) [tool] => tool::event::set_dropped_handler;
    both MPI_T_finalize() [tool] => tool::finalize;
    both MPI_T_init_thread(required: c_int, provided: *mut c_int) [tool] => tool::init_thread;
    both MPI_T_pvar_get_index(name: *const c_char, var_class: c_int, pvar_index: *mut c_int)
        [tool] => tool::pvar::get_index;
    both MPI_T_pvar_get_info(pvar_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int,
        var_class: *mut c_int, datatype: *mut Datatype, enumtype: *mut TEnum, desc: *mut c_char, desc_len: *mut c_int,
        bind: *mut c_int, readonly: *mut c_int, continuous: *mut c_int, atomic: *mut c_int)
        [tool] => tool::pvar::get_info;
    both MPI_T_pvar_get_num(num_pvar: *mut c_int) [tool] => tool::pvar::get_num;
    both MPI_T_pvar_handle_alloc(session: TPvarSession, pvar_index: c_int, obj_handle: *mut c_void,
        handle: *mut TPvarHandle, count: *mut c_int) [tool] => tool::pvar::handle_alloc;
    both MPI_T_pvar_handle_free(session: TPvarSession, handle: *mut TPvarHandle) [tool] => tool::pvar::handle_free;
    both MPI_T_pvar_read(session: TPvarSession, handle: TPvarHandle, buf: *mut c_void) [tool] => tool::pvar::read;
    both MPI_T_pvar_readreset(session: TPvarSession, handle: TPvarHandle, buf: *mut c_void)
        [tool] => tool::pvar::readreset;
    both MPI_T_pvar_reset(session: TPvarSession, handle: TPvarHandle) [tool] => tool::pvar::reset;
    both MPI_T_pvar_session_create(session: *mut TPvarSession) [tool] => tool::pvar::session_create;
    both MPI_T_pvar_session_free(session: *mut TPvarSession) [tool] => tool::pvar::session_free;
    both MPI_T_pvar_start(session: TPvarSession, handle: TPvarHandle) [tool] => tool::pvar::start;
    both MPI_T_pvar_stop(session: TPvarSession, handle: TPvarHandle) [tool] => tool::pvar::stop;
    both MPI_T_pvar_write(session: TPvarSession, handle: TPvarHandle, buf: *const c_void) [tool] => tool::pvar::write;
    both MPI_T_source_get_info(source_index: c_int, name: *mut c_char, name_len: *mut c_int, desc: *mut c_char,
        desc_len: *mut c_int, ordering: *mut TSourceOrder, ticks_per_second: *mut Count, max_ticks: *mut Count,
        info: *mut Info) [tool] => tool::event::source_get_info;
    both MPI_T_source_get_num(num_sources: *mut c_int) [tool] => tool::event::source_get_num;
    both MPI_T_source_get_timestamp(source_index: c_int, timestamp: *mut Count)
        [tool] => tool::event::source_get_timestamp;
} } }
